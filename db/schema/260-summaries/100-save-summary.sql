-- Saves a summary that an agent or administrator wrote. Callers reach save_summary() in psql, and by the operation
-- summarize over MCP and GraphQL.
create function summaries.lock_summary(audience_id uuid, scope_type text, scope_value text) returns void
language sql volatile set search_path = ''
begin atomic
  select pg_advisory_xact_lock(hashtextextended(format('l9-memory summary %s %s %s', audience_id, scope_type, scope_value), 0));
end;
comment on function summaries.lock_summary is 'Locks the summary of a subject until the end of the transaction: of two '
  'concurrent calls the second waits and replaces the summary of the first.';

-- The audience comes first, because it decides which summary is replaced and what the lock is named after. The former
-- summary is deleted under the caller's own policies, which refuse another agent's.
create function public.save_summary(scope_type text, scope_value text, summary_text text, source_packet_ids uuid[],
  key_facts text[] default '{}', key_entities text[] default '{}', key_decisions text[] default '{}',
  confidence double precision default 0.8, valid_until timestamptz default null) returns public.memory_summaries
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  wanted_confidence double precision := coalesce(save_summary.confidence, 0.8);
  audience summaries.summary_audience;
  former_packet uuid;
  saved public.save_result;
begin
  perform summaries.check_summary(
    save_summary.scope_type, save_summary.scope_value, summary_text, save_summary.key_facts, save_summary.key_entities,
    save_summary.key_decisions, wanted_confidence);
  if save_summary.valid_until <= now() then
    perform identity.raise_error('L9VAL', 'valid_until: must be in the future', 'valid_until');
  end if;
  audience := summaries.audience_of_sources(source_packet_ids);
  if audience.org_id <> me.org_id or audience.user_id <> me.user_id
    or audience.org_id is not null and me.org_id is null or audience.user_id is not null and me.user_id is null then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: these memories belong to an org or user that you do not act for, so that others could read the summary',
      'source_packet_ids');
  end if;
  perform packets.check_scope(audience.scope, audience.project_id);

  perform summaries.lock_summary(
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, audience.project_id, audience.scope), save_summary.scope_type,
    save_summary.scope_value);
  select s.source_packet into former_packet
  from public.memory_summaries s
  where s.tenant_id = me.tenant_id and s.scope = audience.scope and s.project_id is not distinct from audience.project_id
    and s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id
    and s.scope_type = save_summary.scope_type and s.scope_value = save_summary.scope_value;
  if former_packet = any (source_packet_ids) then
    perform identity.raise_error(
      'L9VAL', 'source_packet_ids: names the summary that this one replaces; name the sources of that summary instead',
      'source_packet_ids');
  elsif former_packet is not null then
    delete from public.packet_store p where p.packet_id = former_packet;
    if not found then
      perform identity.raise_error('L9OWN', 'scope_value: has a summary that another agent wrote, which you can''t replace',
        'scope_value');
    end if;
  end if;

  saved := public.save_memory(
    summaries.summary_heading(save_summary.scope_type, save_summary.scope_value) || e'\n' || summary_text,
    scope => audience.scope, project_id => audience.project_id, branch => coalesce(audience.branch, '*'), kind => 'summary',
    ttl => audience.ttl, parent_ids => summaries.newest_sources(source_packet_ids));
  perform derived.refuse_withheld(saved.memory);
  return summaries.store_summary_row(
    (saved.memory).packet_id, save_summary.scope_type, save_summary.scope_value, source_packet_ids, save_summary.key_facts,
    save_summary.key_entities, save_summary.key_decisions, wanted_confidence, save_summary.valid_until);
end $$;
comment on function public.save_summary is 'Saves the summary of a subject as a memory and replaces the existing one; agents '
  'replace only their own (else L9OWN). scope_type: thread, agent, topic, time_period, project or task. Only callers that may '
  'read all of source_packet_ids (at most 500) can read it, and no longer than these; if no scope has exactly these readers, '
  'L9VAL. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';
grant execute on function summaries.lock_summary, public.save_summary to l9_agent, l9_admin;
