-- Lists the due summaries of a caller, who reaches due_summaries() over GraphQL and psql. summarize() calls
-- find_due_for_caller() and writes an audit row of its own.
create type public.due_summary as (scope_type text, scope_value text, scope text, project_id text, reason text,
  new_packets integer, packet_count integer, summary_id uuid, coverage_start timestamptz, coverage_end timestamptz,
  valid_until timestamptz, source_packet_ids uuid[]);
call identity.describe('public.due_summary', 'A summary that is due.
  scope_type: The type of the subject: thread, agent, topic, time_period, project or task.
  scope_value: The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.
  scope: The scope of the memories, which the summary will have.
  project_id: The project of the memories; null in scope global.
  coverage_start: The event time of the source of the existing summary that happened first; null if there is none.
  coverage_end: The event time of the source of the existing summary that happened last; null if there is none.
  valid_until: The time from which the existing summary is due by time alone.
  reason: The reason why the summary is due. none: there is no summary yet; packets: enough memories were added; changed: the text
    of a source was changed; valid_until: that time has passed.
  new_packets: The number of memories added since the existing summary.
  packet_count: The number of memories of the subject.
  summary_id: The existing summary; null if there is none.
  source_packet_ids: The memories to summarise, newest first: the argument of save_summary().');

create function summaries.find_due_for_caller(
  scope_types text[], scope_value text, project_id text, min_packets integer, max_sources integer, k integer)
returns setof public.due_summary
language plpgsql stable set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  one_type text;
begin
  foreach one_type in array coalesce(scope_types, '{}') loop
    perform reflection.check_choice(one_type, summaries.scope_types(), 'scope_types');
  end loop;
  if min_packets < 1 then
    perform identity.raise_error('L9VAL', 'min_packets: must be 1 or more');
  elsif max_sources is null or max_sources not between 1 and summaries.max_sources() then
    perform identity.raise_error('L9VAL', format('max_sources: must be from 1 to %s', summaries.max_sources()));
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 100');
  end if;
  project_id := nullif(project_id, '');
  return query
  select d.scope_type, d.scope_value, d.scope, d.project_id, d.reason, d.new_packets, d.packet_count, d.summary_id,
    d.coverage_start, d.coverage_end, d.valid_until, d.source_packet_ids
  from summaries.find_due(me, me.tenant_id, scope_types, scope_value, project_id, min_packets, max_sources, k) d;
end $$;
comment on function summaries.find_due_for_caller is 'What due_summaries() returns, without an audit row.';

create function public.due_summaries(scope_types text[] default null, scope_value text default null, project_id text default null,
  min_packets integer default null, max_sources integer default 100, k integer default 20) returns setof public.due_summary
language plpgsql volatile set search_path = '' as $$
declare
  due public.due_summary[] := array(
    select d from summaries.find_due_for_caller(scope_types, scope_value, project_id, min_packets, max_sources, k) d);
begin
  perform audit.audit_read(
    'READ', jsonb_build_object('function', 'due_summaries', 'rows', cardinality(due), 'ids', array(
      select d.summary_id from unnest(due) d where d.summary_id is not null
      union select i.id from unnest(due) d cross join lateral unnest(d.source_packet_ids) as i (id))), project_id => project_id);
  return query select d.* from unnest(due) d;
end $$;
comment on function public.due_summaries is 'Summaries that are due where the caller writes: enough memories have none, enough '
  'were added, a source was changed, or valid_until has passed. min_packets: what is enough; by default task 5, thread 10, topic '
  'and week 20, agent and project 50. source_packet_ids: the newest max_sources (1 to 500). k: 1 to 100. Scans the newest 20,000 '
  'memories. Writes a READ audit row. Errors: L9VAL, L9AUT.';
grant execute on function summaries.find_due_for_caller, public.due_summaries to l9_agent, l9_admin;
