create type public.summarize_result as (status text, summary public.memory_summaries, due jsonb);

comment on type public.summarize_result is
  'status: saved, due or nothing_due; summary: what was saved; due: what is to be summed up, each with its sources.';
comment on column public.summarize_result.status is 'saved, due or nothing_due.';
comment on column public.summarize_result.summary is 'What was saved.';
comment on column public.summarize_result.due is 'What is to be summed up, each with its sources.';

create function summaries.sources_within(ids uuid[], max_tokens integer)
returns jsonb
language sql
stable
set search_path = ''
begin atomic
  with sources as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p."timestamp", p.metadata ->> 'creator' as creator,
      p.envelope ->> 'content' as content,
      row_number() over (order by p."timestamp" desc, p.packet_id desc) as place,
      count(*) over () as number
    from public.packet_store p
    where p.packet_id = any (ids)
  ), trimmed as (
    select s.*, left(s.content, t.audience_id) as shown, length(s.content) > t.audience_id as is_truncated,
      sum(40 + search.token_estimate(left(s.content, t.audience_id))) over (order by s.place) as used
    from sources s
    -- Each gets its share, 240 characters at least; the newest come first where not even that fits.
    cross join lateral (select greatest(240, (3 * max_tokens / s.number - 120)::integer) as audience_id) t
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'packet_id', t.packet_id, 'content', t.shown, 'is_truncated', t.is_truncated, 'kind', t.packet_type, 'scope', t.scope,
    'project_id', t.project_id, 'creator', t.creator, 'timestamp', t."timestamp") order by t.place desc), '[]')
  from trimmed t
  where t.place <= 100 and (t.place = 1 or t.used <= max_tokens);
end;

comment on function summaries.sources_within(uuid[], integer) is
  'The texts of memories, as far as the caller may read them, the oldest first, trimmed to about so many tokens; the newest 100 at most.';

create function public.summarize(
  scope_type text default null,
  scope_value text default null,
  summary_text text default null,
  source_packet_ids uuid[] default null,
  key_facts text[] default '{}',
  key_entities text[] default '{}',
  key_decisions text[] default '{}',
  confidence double precision default 0.8,
  valid_until timestamptz default null,
  project_id text default null,
  k integer default 1,
  max_tokens integer default 8000
)
returns public.summarize_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  answer public.summarize_result;
  shown jsonb;
begin
  if summary_text is not null then
    answer.summary := public.save_summary(
      scope_type, scope_value, summary_text, source_packet_ids, key_facts, key_entities, key_decisions, confidence, valid_until);
    answer.status := 'saved';
    return answer;
  elsif max_tokens is null or max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: from 500 to 1000000', 'max_tokens');
  elsif k is null or k not between 1 and 20 then
    perform identity.raise_error('L9VAL', 'k: from 1 to 20', 'k');
  end if;

  select coalesce(jsonb_agg(
    to_jsonb(d) - 'source_packet_ids' - 'place' || jsonb_build_object('sources', summaries.sources_within(d.source_packet_ids, max_tokens / k))
    order by d.place), '[]')
  into answer.due
  from public.due_summaries(
    case when scope_type is not null then array[scope_type] end, scope_value, project_id,
    -- Who names it is not told that there is too little.
    case when scope_value is not null then 1 end, 100, k
  ) with ordinality as d (
    scope_type, scope_value, scope, project_id, reason, new_packets, packet_count, summary_id, coverage_start, coverage_end,
    valid_until, source_packet_ids, place);
  answer.status := case when answer.due = '[]' then 'nothing_due' else 'due' end;

  -- Whose texts were shown is on the record, as of any read.
  shown := jsonb_path_query_array(answer.due, '$[*].sources[*].packet_id');
  perform audit.audit_read('READ', jsonb_build_object('ids', shown, 'scope_type', scope_type));
  return answer;
end
$$;

comment on function public.summarize(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text, integer, integer) is
  'Without summary_text: what is due (of this scope_type, scope_value and project_id, where given), k of them (1 to 20), with the texts to be summed up, trimmed to about max_tokens. With it: save_summary(). Leaves an audit row. Errors: as of save_summary.';

grant execute on function
  summaries.sources_within(uuid[], integer),
  public.summarize(
    text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text, integer, integer)
to l9_agent, l9_admin;

create function summaries.summary_json(summary public.memory_summaries)
returns jsonb
language sql
-- Volatile: so that it sees the memory which the same statement has just saved.
volatile
set search_path = ''
return case when (summary).summary_id is not null then pg_catalog.jsonb_build_object(
  'summary_id', (summary).summary_id,
  'packet_id', (summary).source_packet,
  'scope_type', (summary).scope_type,
  'scope_value', (summary).scope_value,
  'summary_text', public.memory_summaries_summary_text(summary),
  'key_facts', (summary).key_facts,
  'key_entities', (summary).key_entities,
  'key_decisions', (summary).key_decisions,
  'source_packet_ids', public.memory_summaries_source_packet_ids(summary),
  'packet_count', (summary).packet_count,
  'confidence', (summary).confidence,
  'scope', (summary).scope,
  'project_id', (summary).project_id,
  'coverage_start', (summary).coverage_start,
  'coverage_end', (summary).coverage_end,
  'valid_until', (summary).valid_until) end;

comment on function summaries.summary_json(public.memory_summaries) is 'A summary as the gateway hands it out, with what is its memory''s.';

grant execute on function summaries.summary_json(public.memory_summaries) to l9_agent, l9_admin;
