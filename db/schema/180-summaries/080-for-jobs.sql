create policy definer_job_writes on public.packet_store for insert to l9_owner
  with check ((select packets.is_job_writing()) and packet_type = 'summary');
comment on policy definer_job_writes on public.packet_store is
  'Functions of the owner that jobs call save summaries; those that agents and admins call save nothing.';

create function summaries.due_summaries_for_job(max_rows integer default 10, max_sources integer default 100)
returns setof summaries.due
language sql
stable
security definer
set search_path = ''
begin atomic
  select d.*
  from public.tenants t
  cross join lateral summaries.find_due(null, t.tenant_id, null, null, null, null, least(max_sources, 500), max_rows) d
  where t.is_active and identity.current_role_name() = 'l9_worker'
  order by d.reason in ('changed', 'valid_until') desc, d.new_packets desc
  limit max_rows;
end;

comment on function summaries.due_summaries_for_job(integer, integer) is
  'As due_summaries(), for every room of every active tenant: what the job that writes summaries has to do. For l9_worker. Definer: reads tenants.';

create function summaries.store_summary(
  scope_type text, scope_value text, summary_text text, source_packet_ids uuid[], key_facts text[] default '{}',
  key_entities text[] default '{}', key_decisions text[] default '{}', confidence double precision default 0.8,
  valid_until timestamptz default null, model text default null)
returns public.memory_summaries
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  audience_id summaries.summary_audience;
  packet_id uuid;
begin
  if identity.current_role_name() <> 'l9_worker' then
    perform identity.raise_error('L9SCP', 'store_summary: for jobs; save_summary() is yours');
  end if;
  perform summaries.check_summary(
    store_summary.scope_type, store_summary.scope_value, summary_text, store_summary.key_facts, store_summary.key_entities,
    store_summary.key_decisions, store_summary.confidence);
  audience_id := summaries.audience_of_sources(source_packet_ids);
  perform summaries.lock_summary(
    packets.audience_id(audience_id.tenant_id, audience_id.org_id, audience_id.user_id, audience_id.project_id, audience_id.scope), store_summary.scope_type,
    store_summary.scope_value);
  perform summaries.delete_summaries(array(
    select s.source_packet from public.memory_summaries s
    where s.tenant_id = audience_id.tenant_id and s.scope = audience_id.scope and s.project_id is not distinct from audience_id.project_id
      and s.org_id is not distinct from audience_id.org_id and s.user_id is not distinct from audience_id.user_id
      and s.scope_type = store_summary.scope_type and s.scope_value = store_summary.scope_value));

  insert into public.packet_store as p (
    packet_type, envelope, metadata, parent_ids, ttl, project_id, scope, tenant_id, org_id, user_id, "timestamp", updated_at)
  values (
    'summary',
    jsonb_build_object('content',
      summaries.summary_heading(store_summary.scope_type, store_summary.scope_value) || e'\n' || summary_text),
    jsonb_strip_nulls(jsonb_build_object('creator', 'job', 'source', 'l9-memory', 'agent', 'job', 'model', store_summary.model)),
    summaries.newest_sources(source_packet_ids), audience_id.ttl, audience_id.project_id, audience_id.scope, audience_id.tenant_id, audience_id.org_id, audience_id.user_id,
    clock_timestamp(), clock_timestamp())
  on conflict do nothing
  returning p.packet_id into packet_id;
  if packet_id is null then
    perform identity.raise_error('L9VAL', 'summary_text: a memory of kind summary says just this', 'summary_text');
  end if;
  return summaries.store_summary_row(
    packet_id, store_summary.scope_type, store_summary.scope_value, source_packet_ids, store_summary.key_facts,
    store_summary.key_entities, store_summary.key_decisions, store_summary.confidence, store_summary.valid_until);
end
$$;

comment on function summaries.store_summary(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text) is
  'As save_summary(), for the job that writes summaries: in the narrowest room of the sources, by creator job, in place of the one that is there, whoever wrote it. For l9_worker. Definer: jobs can''t write memories.';

grant execute on function
  summaries.due_summaries_for_job(integer, integer),
  summaries.store_summary(
    text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text)
to l9_worker;
