-- Fields of a summary in GraphQL that other tables hold: its text, its sources and whether it is stale; and the
-- heading that its memory begins with.
create function summaries.summary_heading(scope_type text, scope_value text) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.format('Summary of %s %s', pg_catalog.replace(scope_type, '_', ' '),
  pg_catalog.btrim(pg_catalog.regexp_replace(scope_value, '\s+', ' ', 'g')));
comment on function summaries.summary_heading is 'The first line of a summary, so that a search for the subject finds it.';

create function public.memory_summaries_summary_text(summary public.memory_summaries) returns text
language sql stable parallel safe set search_path = ''
return (
  select case
    when pg_catalog.starts_with(t.content, h.heading) then pg_catalog.substr(t.content, pg_catalog.length(h.heading) + 1)
    else t.content end
  from (select p.envelope ->> 'content' as content from public.packet_store p where p.packet_id = (summary).source_packet) t
  cross join (select summaries.summary_heading((summary).scope_type, (summary).scope_value) || e'\n' as heading) h);

create function public.memory_summaries_sources(summary public.memory_summaries) returns setof public.packet_store
language sql stable parallel safe set search_path = ''
begin atomic
  select p.*
  from public.memory_summary_sources l
  join public.packet_store p on p.packet_id = l.packet_id
  where l.summary_packet = (summary).source_packet order by p."timestamp", p.packet_id;
end;

create function public.memory_summaries_source_packet_ids(summary public.memory_summaries) returns uuid[]
language sql stable parallel safe set search_path = ''
return array(
  select l.packet_id from public.memory_summary_sources l
  where l.summary_packet = (summary).source_packet order by l.packet_id);

create function public.memory_summaries_is_stale(summary public.memory_summaries) returns boolean
language sql stable parallel safe set search_path = ''
return coalesce((summary).valid_until <= pg_catalog.now(), false) or exists (
  select from public.memory_summary_sources l where l.summary_packet = (summary).source_packet and l.is_changed);
comment on function public.memory_summaries_summary_text is 'The text of the summary: the text of its memory without the '
  'heading.';
comment on function public.memory_summaries_sources is 'The memories that the summary rests on, oldest first.';
comment on function public.memory_summaries_source_packet_ids is 'The ids of the memories that the summary rests on.';
comment on function public.memory_summaries_is_stale is 'True if the text of a source was changed since the summary was written, '
  'or valid_until has passed.';
grant execute on function summaries.summary_heading to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function public.memory_summaries_summary_text, public.memory_summaries_sources,
  public.memory_summaries_source_packet_ids, public.memory_summaries_is_stale to l9_agent, l9_admin, l9_platform_admin, l9_worker;
