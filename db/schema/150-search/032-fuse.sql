create type search.fused as (hits public.memory_hit[], considered integer);

comment on type search.fused is 'Hits, best first, and among how many they were chosen.';

create function search.fuse(
  request search.search_request, words search.found, context_words search.found,
  meaning search.found, context_meaning search.found, reasoning search.found)
returns search.fused
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- Its plan is the same whatever is asked, and takes four times as long to make as to run.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  settings public.search_settings := request.settings;
  compares boolean := request.vector is not null and request.mode <> 'recent';
  has_contexts boolean := request.as_of is null and coalesce(cardinality(request.context_ids), 1) > 0;
  snippet_words tsquery := search.snippet_query(request.query);
  pattern text := search.passage_pattern(request.query);
  own_types text[] := case when request.as_of is null then array['content', 'reasoning'] else array['content'] end;
  answer search.fused;
begin
  with found as (
    select w.packet_id, w.place, w.score as word, null::real as context_word, null::real as near, null::real as context_near, null::integer as chunk,
      false as is_reasoned
    from unnest(words.ids, words.scores) with ordinality as w (packet_id, score, place)
    union all
    select w.packet_id, w.place, null, w.score, null, null, null, false
    from unnest(context_words.ids, context_words.scores) with ordinality as w (packet_id, score, place)
    union all
    select n.packet_id, n.place, null, null, n.score, null, n.chunk, false
    from unnest(meaning.ids, meaning.scores, meaning.chunks) with ordinality as n (packet_id, score, chunk, place)
    union all
    select n.packet_id, n.place, null, null, null, n.score, null, false
    from unnest(context_meaning.ids, context_meaning.scores) with ordinality as n (packet_id, score, place)
    union all
    -- A memory is as near as what it says or how it was reached, whichever is nearer.
    select n.packet_id, n.place, null, null, n.score, null, null, true
    from unnest(reasoning.ids, reasoning.scores) with ordinality as n (packet_id, score, place)
  ), candidates as (
    select f.packet_id, min(f.place) as place, max(f.word) as word, max(f.context_word) as context_word,
      max(f.near) as near, max(f.context_near) as context_near, max(f.chunk) as chunk,
      array_remove(array[
        case when max(f.word) is not null then case request.mode when 'graph' then 'graph' else 'lexical content' end end,
        case when max(f.context_word) is not null then 'lexical context' end,
        case when bool_or(f.near is not null and not f.is_reasoned) then 'semantic content' end,
        case when bool_or(f.is_reasoned) then 'semantic reasoning' end,
        case when max(f.context_near) is not null then 'semantic context' end], null) as found_by
    from found f
    group by f.packet_id
  ), compared as (
    -- What only some legs found is compared in meaning all the same, so that every candidate is scored by the same sum;
    -- but what has twice k before it in each leg was never among the first k: that saves its vectors.
    select c.packet_id, c.word, c.context_word, c.found_by,
      coalesce(c.near, n.near) as near, coalesce(c.context_near, n.context_near) as context_near, coalesce(c.chunk, n.chunk) as chunk
    from candidates c
    left join lateral (
      select max(e.similarity) filter (where e.embedding_type <> 'context') as near,
        max(e.similarity) filter (where e.embedding_type = 'context') as context_near,
        (array_agg(e.chunk_index order by e.similarity desc) filter (where e.embedding_type = 'content'))[1] as chunk
      from (
        select e.embedding_type, e.chunk_index, (1 - (e.vector operator(extensions.<=>) request.vector))::real as similarity
        from public.memory_embeddings e
        where compares and (c.near is null or (has_contexts and c.context_near is null))
          and (c.place <= 2 * request.k or request.threshold is not null)
          and e.packet_id = c.packet_id and e.model = request.model
          and (e.embedding_type = any (own_types) and c.near is null and (e.chunk_index = 0 or settings.uses_chunks)
            or e.embedding_type = 'context' and has_contexts and c.context_near is null)
          and (request.as_of is null or exists (
            select from public.packet_store p where p.packet_id = e.packet_id and p.updated_at <= request.as_of))
      ) e
    ) n on true
  ), scored as (
    select c.*,
      c.word / m.best as lexical_content, c.context_word / m.best as lexical_context,
      search.with_context((c.word / m.best)::real, (c.context_word / m.best)::real, settings.context_weight) as lexical_score,
      -- greatest() alone would make a 0 of what was not compared.
      search.with_context(
        case when c.near is not null then greatest(c.near, 0) end::real,
        case when c.context_near is not null then greatest(c.context_near, 0) end::real, settings.context_weight) as semantic_score
    from compared c
    cross join (select nullif(greatest(max(c.word), max(c.context_word)), 0) as best from candidates c) m
    -- Outside the top-k: inside, with too few hits, a scan would walk its whole index.
    where request.threshold is null or coalesce(c.near, c.context_near) is null
      or 1 - greatest(c.near, c.context_near) <= request.threshold
  ), ranked as (
    select s.*,
      (case request.mode
        when 'recent' then 1
        when 'graph' then s.word
        when 'lexical' then s.lexical_score
        when 'semantic' then s.semantic_score
        else (settings.lexical_weight * coalesce(s.lexical_score, 0) + settings.semantic_weight * coalesce(s.semantic_score, 0))
          / (settings.lexical_weight + settings.semantic_weight)
      end)::real as fused
    from scored s
  ), promising as (
    -- Boosts lift nothing from further below into the first k.
    select r.* from ranked r
    -- What was compared is found however far it is, so that k is filled where so many are visible.
    where (r.fused > 0 or r.semantic_score is not null)
      and r.fused * (1 + settings.recency_boost + settings.importance_boost) * 1.0001 >= coalesce((
        select other.fused from ranked other order by other.fused desc nulls last offset request.k - 1 limit 1), 0)
  ), states as (
    select r.*, p."timestamp", old.packet_id is not null as is_old,
      case when old.packet_id is null then p.packet_type else old.packet_type end as kind,
      case when old.packet_id is null then importance.importance_of(p, learned, now()) else old.importance_score end as importance
    from promising r
    join public.packet_store p on p.packet_id = r.packet_id
    left join public.memory_signals learned on learned.packet_id = p.packet_id
    left join public.packet_versions old on request.as_of is not null and p.updated_at > request.as_of
      and old.packet_id = p.packet_id and old.valid_from <= request.as_of and old.valid_until > request.as_of
    where request.as_of is null or p.updated_at <= request.as_of or old.packet_id is not null
  ), boosted as (
    select s.*, b.recency,
      case request.mode when 'recent' then 1 else search.boost(b.recency, s.importance, settings) end as factor
    from states s
    cross join lateral (
      select search.recency(
        coalesce(request.as_of, now()) - s."timestamp",
        coalesce(settings.half_life_days ->> s.kind, settings.half_life_days ->> 'default')::double precision) as recency
    ) b
  ), best as (
    select b.* from boosted b
    order by b.fused * b.factor desc, b.near desc nulls last, b."timestamp" desc, b.packet_id desc
    limit request.k
  )
  select
    array_agg(row(
      b.packet_id, null, left(t.content, 8000), length(t.content) > 8000,
      search.snippet(coalesce(chunk.chunk_text, search.passage(t.content, pattern)), snippet_words),
      b.fused * b.factor, case when request.mode not in ('recent', 'graph') then b.lexical_score end, b.semantic_score, b.chunk,
      t.packet_type, t.scope, t.project_id, t.tags, t.thread_id, t.metadata ->> 'creator', b.importance, b."timestamp",
      case when request.is_explained then jsonb_build_object(
        'found_by', b.found_by,
        'lexical', case when request.mode <> 'graph' then jsonb_build_object('content', b.lexical_content, 'context', b.lexical_context) end,
        'semantic', jsonb_build_object('content', b.near, 'context', b.context_near),
        'graph', request.paths -> b.packet_id::text,
        'chunk', jsonb_build_object('index', b.chunk) || coalesce(chunk.metadata, '{}'),
        'weights', jsonb_build_object(
          'lexical', settings.lexical_weight, 'semantic', settings.semantic_weight, 'context', settings.context_weight),
        'fused', b.fused,
        'boosts', jsonb_build_object('recency', b.recency, 'importance', b.importance, 'factor', b.factor)) end
    )::public.memory_hit order by b.fused * b.factor desc, b.near desc nulls last, b."timestamp" desc, b.packet_id desc),
    (select count(*)::integer from scored)
  into answer.hits, answer.considered
  from best b
  cross join lateral (
    select p.envelope ->> 'content' as content, p.packet_type, p.scope, p.project_id, p.tags, p.thread_id, p.metadata
    from public.packet_store p where not b.is_old and p.packet_id = b.packet_id
    union all
    select v.envelope ->> 'content', v.packet_type, v.scope, v.project_id, v.tags, v.thread_id, v.metadata
    from public.packet_versions v
    where b.is_old and v.packet_id = b.packet_id and v.valid_from <= request.as_of and v.valid_until > request.as_of
  ) t
  left join public.memory_embeddings chunk on b.chunk > 0 and chunk.packet_id = b.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = b.chunk;
  answer.hits := coalesce(answer.hits, '{}');
  return answer;
end
$$;

comment on function search.fuse(
  search.search_request, search.found, search.found, search.found, search.found, search.found) is
  'The k best of what the legs found: words as parts of the best hit''s, meaning as cosine similarity, each lifted by context; their weighted sum; and then the boosts.';

grant execute on function search.fuse(
  search.search_request, search.found, search.found, search.found, search.found, search.found)
to l9_agent, l9_admin, l9_platform_admin;
