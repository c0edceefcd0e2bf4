-- Ranks the candidates of memory_find by find.score() and makes hits of the best. memory_find calls rank_hits() after each route.
create function find.lean_fields(fields jsonb) returns jsonb language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(f.key, case
    when pg_catalog.octet_length(f.value::text) <= 1000 then f.value
    else pg_catalog.to_jsonb(pg_catalog.left(f.value #>> '{}', 200) || '…') end), '{}')
  from pg_catalog.jsonb_each(fields) as f
  where pg_catalog.octet_length(f.value::text) <= 1000 or pg_catalog.jsonb_typeof(f.value) = 'string');
comment on function find.lean_fields is 'Fields of a memory for a hit: long texts are cut, long lists and objects left out.';

create type find.ranked as (hits public.found_memory[], left_out integer, nearest public.found_memory[]);
comment on type find.ranked is 'Hits, best first, and how many of the candidates were left out because nothing matched well. '
  'nearest: the best of these.';

create function find.to_nearest(found public.found_memory[]) returns public.nearest_memory[]
language sql immutable parallel safe set search_path = ''
begin atomic
  select coalesce(array_agg(row(f.packet_id, f.kind, f.snippet, f.score, f.confidence, f.scope, f.project_id, f.standing)
    ::public.nearest_memory order by place), '{}')
  from generate_subscripts(found, 1) as place cross join lateral (select (found[place]).*) as f;
end;
comment on function find.to_nearest is 'What is shown of memories that did not match well; their relevance is the confidence.';

-- One statement: measure each candidate, let quoted phrases decide, score, take the k best, and only for these make
-- snippets and fields.
create function find.rank_hits(found find.candidates, route text, k integer) returns find.ranked
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- Each memory is looked up once, so that there is nothing to keep.
set enable_memoize = off
-- The plan does not depend on the request, and planning takes longer than running it.
set plan_cache_mode = force_generic_plan as $$
declare
  max_citations constant integer := 1000;
  request constant search.search_request := found.request;
  weights constant public.find_settings := find.settings_of((request.caller).tenant_id);
  own_org constant uuid := (request.caller).org_id;
  phrases constant text[] := find.quoted_phrases(request.query);
  pattern constant text := search.passage_pattern(request.query, request.languages);
  is_answered boolean;
  answer find.ranked;
begin
  with asked as materialized (
    -- The words of the query, for the formula of search.word_share(): a call of it for each candidate takes ten times as long.
    select w.test, w.weight
    from unnest(search.word_tests(request.lexemes, request.query, request.languages), request.word_weights) as w (test, weight)
  ), pool as materialized (
    select h.packet_id, h.score, h.relevance, h.is_relevant, h.chunk_index, h.explanation, g.score as path
    from unnest(found.ids, found.scores, found.relevances, found.are_relevant, found.chunks, found.explanations)
      as h (packet_id, score, relevance, is_relevant, chunk_index, explanation)
    left join unnest((found.paths).ids, (found.paths).scores) as g (id, score) on g.id = h.packet_id
  ), looked_up as materialized (
    -- By itself, so that text_writer() is inlined: a whole row passed on to a subquery would be copied with all of its texts.
    select f.*, p.packet_type, p.title, p.envelope, p.scope, p.project_id, p.branch, p.updated_at, p."timestamp", p.org_id,
      p.words, p.content_hash, packets.text_writer(p) as writer
    from pool f join public.packet_store p on p.packet_id = f.packet_id
  ), measured as (
    select p.packet_id, p.score, p.relevance, p.is_relevant, p.chunk_index, p.explanation, p.path, p.packet_type, p.title,
      p.envelope, p.scope, p.project_id, p.branch, p.updated_at, p."timestamp",
      h.half_life_days, search.recency(now() - p."timestamp", h.half_life_days) as recency,
      (select (sum(w.weight) filter (where u.words[1] @@ w.test) / nullif(sum(w.weight), 0))::real from asked w) as word_share,
      find.proximity(p.project_id, p.branch, p.org_id, request.project_id, request.branch, own_org) as proximity,
      find.citation_share(r.agents) as citation_share, r.agents,
      phrases = '{}' or find.has_phrases(concat_ws(' ', p.title, p.envelope ->> 'content'), phrases) as has_phrases
    from looked_up p
    -- An agent counts once, its own memories aside, and only for the present text.
    cross join lateral (
      select count(distinct a.agent) as agents
      from (
        (select packets.text_writer(m) as agent
         from importance.memory_citations c join public.packet_store m on m.packet_id = c.cited_by
         where c.packet_id = p.packet_id and c.content_hash = p.content_hash
           and packets.text_writer(m) not in (p.writer, 'job')
         limit max_citations)
        union all (select e.agent from public.fact_evidence e
         where e.packet_id = p.packet_id and e.content_hash = p.content_hash and e.agent <> p.writer limit max_citations)
      ) a
    ) r
    -- An array holds its elements unpacked, so that this is done once instead of for each word of the query.
    cross join lateral (select array[p.words] as words offset 0) u
    cross join lateral (
      select coalesce(weights.half_life_days ->> p.packet_type,
        weights.half_life_days ->> 'default')::double precision as half_life_days
    ) h
  ), matched as (
    select m.*, case when m.has_phrases or not bool_or(m.has_phrases) over () then m.score else 0 end as match from measured m
  ), ahead as materialized (
    select array(select m.match from matched m order by m.match desc limit 2) as matches
  ), judged as (
    -- By words alone, what has enough of them is relevant; fuse() has decided it for the other routes.
    select m.*, m.match - case when m.match < l.matches[1] then l.matches[1] else coalesce(l.matches[2], m.match) end as lead,
      find.score(m.match, m.recency, m.proximity, m.citation_share, weights) as own_total,
      m.path is not null or coalesce(m.is_relevant, route <> 'fast' or m.word_share >= request.min_relevance) as fits
    from matched m cross join ahead l
  ), best as (
    -- What is hardly relevant comes last, however new or near it is.
    select j.*, case when j.fits then j.own_total
        else least(j.own_total, min(j.own_total) filter (where j.fits) over ()) end as total
    from (select m.*, bool_or(m.fits) over () as is_answered from judged m) j
    -- What was asked for by its words is not filled up with what has few of them.
    where route <> 'fast' or j.fits or j.is_answered is not true
    order by j.fits desc, total desc, j.score desc, j."timestamp" desc, j.packet_id desc limit k
  ), shown as materialized (
    -- Most memories have nothing beside their content.
    select b.*, b.envelope ->> 'content' as content, f.all_fields,
      case when f.all_fields = '{}' then f.all_fields else find.lean_fields(f.all_fields) end as fields
    from best b
    cross join lateral (select b.envelope - 'content' as all_fields offset 0) f
  )
  select coalesce(array_agg(row(
    s.packet_id, null, s.packet_type, s.title,
    search.snippet(coalesce(chunk.chunk_text, search.passage(s.content, pattern)), pattern), s.total,
    case when route <> 'newest' then find.confidence(s.relevance, s.word_share, s.path, s.lead::real) end,
    s.fields, s.fields <> s.all_fields, s.scope, s.project_id, s.branch, s.updated_at, route,
    case when request.is_explained then jsonb_build_object(
      'matches', jsonb_build_object('value', s.match, 'weight', weights.match_weight),
      'recency', jsonb_build_object('value', s.recency, 'weight', weights.recency_weight, 'half_life_days', s.half_life_days),
      'proximity', jsonb_build_object('value', s.proximity, 'weight', weights.proximity_weight),
      'citations', jsonb_build_object('value', s.citation_share, 'weight', weights.citation_weight, 'agents', s.agents),
      'confidence', jsonb_build_object('relevance', s.relevance, 'word_share', s.word_share, 'path', s.path, 'lead', s.lead),
      'search', s.explanation) end,
    null
    )::public.found_memory order by s.fits desc, s.total desc, s.score desc, s."timestamp" desc, s.packet_id desc), '{}'),
    bool_or(s.is_answered),
    coalesce(found.left_out, 0) + (select count(*) from judged j where route = 'fast' and not j.fits)
  into answer.hits, is_answered, answer.left_out
  from shown s
  left join public.memory_embeddings chunk on s.chunk_index > 0 and chunk.packet_id = s.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = s.chunk_index;
  answer.nearest := '{}';
  if not is_answered then
    answer.nearest := answer.hits[:search.max_nearest()];
    answer.hits := '{}';
  end if;
  return answer;
end $$;
comment on function find.rank_hits is 'The k candidates with the highest find.score(), with snippets and what is shown of them. '
  'Citations count the agents other than its writer that cite it, among the first 1000 memories and facts that the caller may '
  'read.';
grant execute on function find.lean_fields, find.to_nearest, find.rank_hits to l9_agent, l9_admin, l9_platform_admin;
