create function find.lean_fields(envelope jsonb)
returns jsonb
language sql
immutable
parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(f.key, case
    when pg_catalog.octet_length(f.value::text) <= 1000 then f.value
    else pg_catalog.to_jsonb(pg_catalog.left(f.value #>> '{}', 200) || '…') end), '{}')
  from pg_catalog.jsonb_each(envelope - 'content') as f
  where pg_catalog.octet_length(f.value::text) <= 1000 or pg_catalog.jsonb_typeof(f.value) = 'string');

comment on function find.lean_fields(jsonb) is
  'The fields of an envelope beside its content, in a form that fits among hits: long texts are cut, long lists and objects left out.';

create type find.ranked as (hits public.found_memory[], left_out integer);

comment on type find.ranked is 'Hits, best first, and how many of the candidates were left out because they are not relevant.';

create function find.rank_hits(found find.candidates, route text, k integer)
returns find.ranked
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The plan does not depend on the request, and planning takes longer than running it.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  max_citations constant integer := 100;
  request constant search.search_request := found.request;
  weights constant public.find_settings := find.current_settings();
  own_org constant uuid := (request.caller).org_id;
  phrases constant text[] := find.quoted_phrases(request.query);
  pattern constant text := search.passage_pattern(request.query, request.languages);
  answer find.ranked;
begin
  with pool as materialized (
    select h.packet_id, h.score, h.relevance, h.chunk_index, h.explanation, g.score as path
    from unnest(found.ids, found.scores, found.relevances, found.chunks, found.explanations)
      as h (packet_id, score, relevance, chunk_index, explanation)
    left join unnest((found.paths).ids, (found.paths).scores) as g (id, score) on g.id = h.packet_id
  ), cited as (
    select f.packet_id, count(c.cited_by) as memories
    from pool f
    cross join lateral (
      select c.cited_by from importance.memory_citations c where c.packet_id = f.packet_id limit max_citations) c
    group by f.packet_id
  ), stated as (
    select f.packet_id, count(e.fact_id) as facts
    from pool f
    cross join lateral (
      select e.fact_id from public.fact_evidence e where e.packet_id = f.packet_id limit max_citations) e
    group by f.packet_id
  ), measured as (
    select f.*, p.packet_type, p.title, p.envelope, p.scope, p.project_id, p.branch, p.updated_at, p.words, p."timestamp",
      coalesce(c.memories, 0) as memories, coalesce(s.facts, 0) as facts, h.half_life_days,
      search.recency(now() - p."timestamp", h.half_life_days) as recency,
      search.word_relevance(p.words, request.lexemes, request.word_weights) as word_share,
      find.proximity(p.project_id, p.branch, p.org_id, request.project_id, request.branch, own_org) as proximity,
      find.citation_share(coalesce(c.memories, 0) + coalesce(s.facts, 0)) as citation_share,
      phrases = '{}' or find.has_phrases(concat_ws(' ', p.title, p.envelope ->> 'content'), phrases) as has_phrases
    from pool f
    join public.packet_store p on p.packet_id = f.packet_id
    left join cited c on c.packet_id = f.packet_id
    left join stated s on s.packet_id = f.packet_id
    cross join lateral (
      select coalesce(weights.half_life_days ->> p.packet_type, weights.half_life_days ->> 'default')::double precision as half_life_days
    ) h
  ), matched as (
    select m.*, case when m.has_phrases or not bool_or(m.has_phrases) over () then m.score else 0 end as match from measured m
  ), ahead as materialized (
    select array(select m.match from matched m order by m.match desc limit 2) as matches
  ), best as (
    select m.*, m.match - case when m.match < l.matches[1] then l.matches[1] else coalesce(l.matches[2], m.match) end as lead,
      find.score(m.match, m.recency, m.proximity, m.citation_share, weights) as total
    from matched m cross join ahead l
    -- The other routes have left out what is not relevant.
    where route <> 'fast' or m.word_share >= request.min_relevance
    order by total desc, m.score desc, m."timestamp" desc, m.packet_id desc
    limit k
  ), shown as materialized (
    select b.*, b.envelope ->> 'content' as content,
      find.lean_fields(b.envelope) as fields
    from best b
  )
  select coalesce(array_agg(row(
    s.packet_id, null, s.packet_type, s.title,
    search.snippet(coalesce(chunk.chunk_text, search.passage(s.content, pattern)), pattern),
    s.total,
    case when route <> 'newest' then find.confidence(s.relevance, s.word_share, s.path, s.lead::real) end,
    s.fields, s.fields <> s.envelope - 'content', s.scope, s.project_id, s.branch, s.updated_at, route,
    case when request.is_explained then jsonb_build_object(
      'matches', jsonb_build_object('value', s.match, 'weight', weights.match_weight),
      'recency', jsonb_build_object('value', s.recency, 'weight', weights.recency_weight, 'half_life_days', s.half_life_days),
      'proximity', jsonb_build_object('value', s.proximity, 'weight', weights.proximity_weight),
      'citations', jsonb_build_object('value', s.citation_share, 'weight', weights.citation_weight, 'memories', s.memories, 'facts', s.facts),
      'confidence', jsonb_build_object('relevance', s.relevance, 'word_share', s.word_share, 'path', s.path, 'lead', s.lead),
      'search', s.explanation) end
    )::public.found_memory order by s.total desc, s.score desc, s."timestamp" desc, s.packet_id desc), '{}'),
    coalesce(found.left_out, 0) + (select count(*) from measured m where route = 'fast' and m.word_share < request.min_relevance)
  into answer.hits, answer.left_out
  from shown s
  left join public.memory_embeddings chunk on s.chunk_index > 0 and chunk.packet_id = s.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = s.chunk_index;
  return answer;
end
$$;

comment on function find.rank_hits(find.candidates, text, integer) is
  'The k candidates with the highest find.score(), with snippets and what is shown of them. Citations are counted up to 100, among memories and facts that the caller may read.';

grant execute on function find.lean_fields(jsonb), find.rank_hits(find.candidates, text, integer) to l9_agent, l9_admin, l9_platform_admin;
