-- Summaries that background jobs save, as the owner and for any audience. store_model_summary() calls store_summary()
-- with what a chat model wrote. Under the same policy a job saves what it extracted and what waits for a review.
create policy definer_job_writes on public.packet_store for insert to l9_owner
  with check ((select packets.is_job_writing()) and packet_type in ('summary', 'extraction'));
comment on policy definer_job_writes on public.packet_store is 'Functions of the owner save summaries and extractions for '
  'background jobs. Functions that agents and admins call save nothing under this policy.';

-- The same steps as save_summary(), but the owner's policies apply: the former summary goes whoever wrote it, and the
-- memory is inserted for the audience instead of the caller.
create function summaries.store_summary(scope_type text, scope_value text, summary_text text, source_packet_ids uuid[],
  key_facts text[] default '{}', key_entities text[] default '{}', key_decisions text[] default '{}',
  confidence double precision default 0.8, valid_until timestamptz default null, model text default null)
returns public.memory_summaries
language plpgsql volatile security definer set search_path = '' as $$
declare
  audience summaries.summary_audience;
  packet_id uuid;
begin
  if identity.current_role_name() <> 'l9_worker' then
    perform identity.raise_error('L9SCP', 'store_summary: only background jobs may call it; call save_summary()', '');
  end if;
  perform summaries.check_summary(
    store_summary.scope_type, store_summary.scope_value, summary_text, store_summary.key_facts, store_summary.key_entities,
    store_summary.key_decisions, store_summary.confidence);
  audience := summaries.audience_of_sources(source_packet_ids);
  if packets.needs_review(audience.tenant_id, 'job', audience.scope, audience.project_id, 'summary', 'l9-memory') then
    perform identity.raise_error('L9IMM', 'scope: summaries there need a review, and one of a job can''t wait for it');
  end if;
  perform summaries.lock_summary(
    packets.audience_id(audience.tenant_id, audience.org_id, audience.user_id, audience.project_id, audience.scope),
    store_summary.scope_type, store_summary.scope_value);
  perform derived.delete_memories(array(
    select s.source_packet from public.memory_summaries s
    where s.tenant_id = audience.tenant_id and s.scope = audience.scope and s.project_id is not distinct from audience.project_id
      and s.org_id is not distinct from audience.org_id and s.user_id is not distinct from audience.user_id
      and s.scope_type = store_summary.scope_type and s.scope_value = store_summary.scope_value));

  insert into public.packet_store as p (
    packet_type, envelope, metadata, parent_ids, ttl, project_id, branch, scope, tenant_id, org_id, user_id, "timestamp",
    created_at, updated_at)
  values (
    'summary',
    jsonb_build_object('content',
      summaries.summary_heading(store_summary.scope_type, store_summary.scope_value) || e'\n' || summary_text),
    jsonb_strip_nulls(jsonb_build_object('creator', 'job', 'source', 'l9-memory', 'agent', 'job', 'model', store_summary.model)),
    summaries.newest_sources(source_packet_ids), audience.ttl, audience.project_id, audience.branch, audience.scope,
    audience.tenant_id, audience.org_id, audience.user_id, clock_timestamp(), clock_timestamp(), clock_timestamp())
  on conflict do nothing returning p.packet_id into packet_id;
  if packet_id is null then
    perform identity.raise_error('L9VAL', 'summary_text: a memory of kind summary with the same text exists');
  end if;
  return summaries.store_summary_row(
    packet_id, store_summary.scope_type, store_summary.scope_value, source_packet_ids, store_summary.key_facts,
    store_summary.key_entities, store_summary.key_decisions, store_summary.confidence, store_summary.valid_until);
end $$;
comment on function summaries.store_summary is 'Saves a summary for the background job (role l9_worker): for the narrowest '
  'audience of the sources, with creator job, and in place of the existing summary, whoever wrote it. Otherwise like '
  'save_summary(). Definer: jobs can''t write memories.';
grant execute on function summaries.store_summary to l9_worker;
