-- The operation summarize: without a text it hands out what is due with the sources, and with one it saves the summary.
create type public.summarize_result as (status text, summary public.memory_summaries, due jsonb);
call identity.describe('public.summarize_result', 'The result of summarize(): the status, and either the saved summary or the due
    ones with their sources.
  status: saved, due or nothing_due.
  summary: The summary that was saved.
  due: The summaries that are due, each with the texts of its sources.');

create function summaries.sources_within(ids uuid[], max_tokens integer) returns jsonb language sql stable set search_path = ''
begin atomic
  with sources as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p."timestamp", p.created_at, p.speaker,
      p.metadata ->> 'creator' as creator, p.metadata ->> 'source' as source, p.envelope ->> 'content' as content,
      row_number() over (order by p."timestamp" desc, p.packet_id desc) as place, count(*) over () as number
    from public.packet_store p
    where p.packet_id = any (ids)
  ), trimmed as (
    select s.*, left(s.content, t.share) as shown, length(s.content) > t.share as is_truncated,
      sum(40 + search.token_estimate(left(s.content, t.share))) over (order by s.place) as used
    from sources s
    -- Each source gets an equal share of characters, at least 240. If even that is too much, the newest sources are kept.
    cross join lateral (select greatest(240, (3 * max_tokens / s.number - 120)::integer) as share) t
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'packet_id', t.packet_id, 'content', t.shown, 'is_truncated', t.is_truncated, 'kind', t.packet_type, 'scope', t.scope,
    'project_id', t.project_id, 'creator', t.creator, 'source', t.source, 'speaker', t.speaker,
    'timestamp', t."timestamp", 'created_at', t.created_at) order by t.place desc), '[]')
  from trimmed t where t.place <= 100 and (t.place = 1 or t.used <= max_tokens);
end;
comment on function summaries.sources_within is 'The readable texts of these memories, oldest first, in max_tokens.';

-- The first half is save_summary(); the second asks for due summaries, cuts the sources of all of them to one budget
-- of tokens, and audits which memories were shown.
create function public.summarize(scope_type text default null, scope_value text default null, summary_text text default null,
  source_packet_ids uuid[] default null, key_facts text[] default '{}', key_entities text[] default '{}',
  key_decisions text[] default '{}', confidence double precision default 0.8, valid_until timestamptz default null,
  project_id text default null, k integer default 1, max_tokens integer default 8000) returns public.summarize_result
language plpgsql volatile set search_path = '' as $$
declare
  result public.summarize_result;
  shown_ids jsonb;
begin
  scope_type := identity.given_text(scope_type);
  scope_value := identity.given_text(scope_value);
  summary_text := identity.given_text(summary_text);
  project_id := identity.given_text(project_id);
  if summary_text is not null then
    result.summary := public.save_summary(
      scope_type, scope_value, summary_text, source_packet_ids, key_facts, key_entities, key_decisions, confidence, valid_until);
    result.status := 'saved';
    return result;
  elsif max_tokens is null or max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: must be from 500 to 1000000');
  elsif k is null or k not between 1 and 20 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 20');
  end if;

  select coalesce(jsonb_agg(
    to_jsonb(d) - 'source_packet_ids' - 'place' || jsonb_build_object('sources',
      summaries.sources_within(d.source_packet_ids, max_tokens / k))
    order by d.place), '[]')
  into result.due
  from summaries.find_due_for_caller(
    case when scope_type is not null then array[scope_type] end, scope_value, project_id,
    -- A caller that names a subject gets it, however few memories it has.
    case when scope_value is not null then 1 end, 100, k
  ) with ordinality as d (
    scope_type, scope_value, scope, project_id, reason, new_packets, packet_count, summary_id, coverage_start, coverage_end,
    valid_until, source_packet_ids, place);
  result.status := case when result.due = '[]' then 'nothing_due' else 'due' end;

  -- The audit row lists the memories whose texts were returned, as for every read.
  shown_ids := jsonb_path_query_array(result.due, '$[*].sources[*].packet_id');
  perform audit.audit_read('READ', jsonb_build_object('ids', shown_ids, 'scope_type', scope_type), project_id => project_id);
  return result;
end $$;
comment on function public.summarize is 'Without summary_text: the summaries that are due (optionally only of this scope_type, '
  'scope_value and project_id), k of them (1 to 20), with the texts of their sources trimmed to about max_tokens tokens. With '
  'summary_text: calls save_summary(). Writes an audit row. Errors: as for save_summary().';
grant execute on function summaries.sources_within, public.summarize to l9_agent, l9_admin;

create function summaries.summary_json(summary public.memory_summaries) returns jsonb language sql
-- Volatile, so that it sees a memory that the same statement has just saved.
volatile set search_path = ''
return case when (summary).summary_id is not null then pg_catalog.jsonb_build_object(
  'summary_id', (summary).summary_id, 'packet_id', (summary).source_packet, 'scope_type', (summary).scope_type,
  'scope_value', (summary).scope_value, 'summary_text', public.memory_summaries_summary_text(summary),
  'key_facts', (summary).key_facts, 'key_entities', (summary).key_entities, 'key_decisions', (summary).key_decisions,
  'source_packet_ids', public.memory_summaries_source_packet_ids(summary), 'packet_count', (summary).packet_count,
  'confidence', (summary).confidence, 'scope', (summary).scope, 'project_id', (summary).project_id,
  'coverage_start', (summary).coverage_start, 'coverage_end', (summary).coverage_end, 'valid_until', (summary).valid_until) end;
comment on function summaries.summary_json is 'A summary as the gateway returns it, with the text of its memory.';
grant execute on function summaries.summary_json to l9_agent, l9_admin;
