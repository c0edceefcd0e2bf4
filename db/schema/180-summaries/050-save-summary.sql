create function summaries.lock_summary(audience_id uuid, scope_type text, scope_value text)
returns void
language sql
volatile
set search_path = ''
begin atomic
  select pg_advisory_xact_lock(hashtextextended(format('l9-memory summary %s %s %s', audience_id, scope_type, scope_value), 0));
end;

comment on function summaries.lock_summary(uuid, text, text) is
  'Two who sum up one thing at once: the second waits, and takes the place of the first.';

create function public.save_summary(
  scope_type text,
  scope_value text,
  summary_text text,
  source_packet_ids uuid[],
  key_facts text[] default '{}',
  key_entities text[] default '{}',
  key_decisions text[] default '{}',
  confidence double precision default 0.8,
  valid_until timestamptz default null
)
returns public.memory_summaries
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  certainty double precision := coalesce(save_summary.confidence, 0.8);
  audience_id summaries.summary_audience;
  former uuid;
  packet_id uuid;
begin
  perform summaries.check_summary(
    save_summary.scope_type, save_summary.scope_value, summary_text, save_summary.key_facts, save_summary.key_entities,
    save_summary.key_decisions, certainty);
  if save_summary.valid_until <= now() then
    perform identity.raise_error('L9VAL', 'valid_until: must be in the future', 'valid_until');
  end if;
  audience_id := summaries.audience_of_sources(source_packet_ids);
  if audience_id.org_id <> me.org_id or audience_id.user_id <> me.user_id
    or audience_id.org_id is not null and me.org_id is null or audience_id.user_id is not null and me.user_id is null then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: memories of an org or user that you do not act for: others could read the summary', 'source_packet_ids');
  end if;
  perform packets.check_scope(audience_id.scope, audience_id.project_id);

  perform summaries.lock_summary(
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, audience_id.project_id, audience_id.scope), save_summary.scope_type,
    save_summary.scope_value);
  select s.source_packet into former
  from public.memory_summaries s
  where s.tenant_id = me.tenant_id and s.scope = audience_id.scope and s.project_id is not distinct from audience_id.project_id
    and s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id
    and s.scope_type = save_summary.scope_type and s.scope_value = save_summary.scope_value;
  if former = any (source_packet_ids) then
    perform identity.raise_error(
      'L9VAL', 'source_packet_ids: the summary that this one replaces; name what it rests on', 'source_packet_ids');
  elsif former is not null then
    delete from public.packet_store p where p.packet_id = former;
    if not found then
      perform identity.raise_error('L9OWN', 'scope_value: the summary that is there is not yours to replace', 'scope_value');
    end if;
  end if;

  packet_id := (public.save_memory(
    summaries.summary_heading(save_summary.scope_type, save_summary.scope_value) || e'\n' || summary_text,
    scope => audience_id.scope, project_id => audience_id.project_id, kind => 'summary', ttl => audience_id.ttl,
    parent_ids => summaries.newest_sources(source_packet_ids))).memory.packet_id;
  return summaries.store_summary_row(
    packet_id, save_summary.scope_type, save_summary.scope_value, source_packet_ids, save_summary.key_facts,
    save_summary.key_entities, save_summary.key_decisions, certainty, save_summary.valid_until);
end
$$;

comment on function public.save_summary(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz) is
  'Saves what these memories say in short, as a memory of kind summary, in place of the one of that subject (scope_type and scope_value) that is there. Who may read it is worked out: those alone who may read every one of source_packet_ids (500 at most), and no longer than they may; where no scope has just these readers, L9VAL. Agents replace only what they wrote (else L9OWN). scope_type: thread, agent, topic, time_period, project or task. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';

grant execute on function
  summaries.lock_summary(uuid, text, text),
  public.save_summary(text, text, text, uuid[], text[], text[], text[], double precision, timestamptz)
to l9_agent, l9_admin;
