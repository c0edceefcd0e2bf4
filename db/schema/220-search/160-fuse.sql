-- Makes one ranked list from the answers of the retrievers. find_hits() calls fuse(), and search_memory() and
-- memory_find for the graph alone.

-- For the candidates of a search that did not read them by their words; score_words() tells it of the others.
create function search.places_of(ids uuid[]) returns search.places
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0 set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  answer search.places;
begin
  select array_agg(p.packet_id), array_agg(search.thread_key(p)), array_agg(p.speaker)
  into answer.ids, answer.threads, answer.speakers
  from public.packet_store p where p.packet_id = any (ids);
  return answer;
end $$;
comment on function search.places_of is 'The thread of each of these memories, and its speaker.';

-- One statement, which goes step by step from retrieved to relevant.
create function search.fuse(request search.search_request, words search.ranked_memories, context_words search.ranked_memories,
  meaning search.ranked_memories, context_meaning search.ranked_memories, reasoning search.ranked_memories,
  related search.ranked_memories default null, places search.places default null) returns search.ranked_hits
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- Each memory is looked up once, so that there is nothing to keep.
set enable_memoize = off
-- The plan does not depend on the request, and planning takes four times as long as running it.
set plan_cache_mode = force_generic_plan as $$
declare
  settings public.search_settings := request.settings;
  compares boolean := request.vector is not null and request.mode <> 'recent';
  has_contexts boolean := request.as_of is null and coalesce(cardinality(request.context_ids), 1) > 0;
  shows_texts boolean := request.leaves_texts_out is not true;
  pattern text := case when shows_texts then search.passage_pattern(request.query, request.languages) end;
  -- Without a ranking, or with the weights of conversations at 0, the candidates' threads are not looked up.
  lifts boolean := request.mode in ('hybrid', 'lexical', 'semantic')
    and greatest(settings.thread_weight, settings.neighbour_weight, settings.speaker_boost) > 0;
  named text := search.named_speakers(request.query);
  first_names text[] := search.first_name_patterns(request.query);
  word_tests tsquery[] := search.word_tests(request.lexemes, request.query, request.languages);
  are_pairs boolean := request.query ~ ('[' || words.unspaced_characters() || ']');
  -- Of pairs of characters and of the words of another memory many match nothing.
  enough_words real := case when not are_pairs and request.like_packet_id is null
    then search.enough_words(request.word_weights, cardinality(request.ids)) end;
  of_few real := search.relevance_of_few(cardinality(request.ids));
  own_types text[] := case when request.as_of is null then array['content', 'reasoning'] else array['content'] end;
  query_vector public.memory_embeddings.compared_vector%type :=
    extensions.subvector(request.vector, 1, request.dimensions);
  candidate_ids uuid[];
  unchanged_ids uuid[];
  past_states public.packet_versions[];
  answer search.ranked_hits;
  is_answered boolean;
begin
  if lifts and places.ids is null or request.as_of is not null then
    candidate_ids := words.ids || context_words.ids || meaning.ids || context_meaning.ids || reasoning.ids || related.ids;
  end if;
  if lifts and places.ids is null then
    places := search.places_of(candidate_ids);
  end if;
  -- Statements of their own, because each reference to a table takes its share of every search, whether it is read or not.
  if request.as_of is not null then
    unchanged_ids := array(
      select p.packet_id from public.packet_store p where p.packet_id = any (candidate_ids) and p.updated_at <= request.as_of);
    past_states := array(
      select v from public.packet_versions v
      where v.packet_id = any (candidate_ids) and v.valid_from <= request.as_of and v.valid_until > request.as_of);
  end if;
  if are_pairs then
    -- A model may not know these scripts, so words weigh at least as much as meaning.
    settings.lexical_weight := greatest(settings.lexical_weight, settings.semantic_weight);
  end if;
  with retrieved as (
    select w.packet_id, w.position, w.score as bm25, null::real as context_bm25, null::real as similarity,
      null::real as context_similarity, null::integer as chunk, false as is_reasoning, null::real as path
    from unnest(words.ids, words.scores) with ordinality as w (packet_id, score, position)
    union all select w.packet_id, w.position, null, w.score, null, null, null, false, null
    from unnest(context_words.ids, context_words.scores) with ordinality as w (packet_id, score, position)
    union all select n.packet_id, n.position, null, null, n.score, null, n.chunk, false, null
    from unnest(meaning.ids, meaning.scores, meaning.chunks) with ordinality as n (packet_id, score, chunk, position)
    union all select n.packet_id, n.position, null, null, null, n.score, null, false, null
    from unnest(context_meaning.ids, context_meaning.scores) with ordinality as n (packet_id, score, position)
    union all
    -- A memory is as near as its content or its reasoning steps, whichever is nearer.
    select n.packet_id, n.position, null, null, n.score, null, null, true, null
    from unnest(reasoning.ids, reasoning.scores) with ordinality as n (packet_id, score, position)
    union all select g.packet_id, g.position, null, null, null, null, null, false, g.score
    from unnest(related.ids, related.scores) with ordinality as g (packet_id, score, position)
  ), candidates as (
    select f.packet_id, min(f.position) as position, max(f.bm25) as bm25, max(f.context_bm25) as context_bm25,
      max(f.similarity) as similarity, max(f.similarity) filter (where not f.is_reasoning) as content_similarity,
      max(f.similarity) filter (where f.is_reasoning) as reasoning_similarity, max(f.context_similarity) as context_similarity,
      max(f.chunk) as chunk, max(f.path) as path, array_remove(array[
        case when max(f.bm25) is not null then case request.mode when 'graph' then 'graph' else 'lexical content' end end,
        case when max(f.context_bm25) is not null then 'lexical context' end,
        case when bool_or(f.similarity is not null and not f.is_reasoning) then 'semantic content' end,
        case when bool_or(f.is_reasoning) then 'semantic reasoning' end,
        case when max(f.context_similarity) is not null then 'semantic context' end,
        case when max(f.path) is not null then 'graph' end], null) as found_by
    from retrieved f group by f.packet_id
  ), nearest as materialized (
    -- Candidates that the retrievers of meaning did not find are compared too, so that every candidate is scored by the same sum.
    -- Skip comparing candidates ranked below 2k in every retriever, or below k if only their context is missing; in tests few of
    -- these reached the top k.
    select e.packet_id, max(e.similarity) filter (where e.embedding_type = 'content') as content_similarity,
      max(e.similarity) filter (where e.embedding_type = 'content' and e.chunk_index = 0) as whole_similarity,
      max(e.similarity) filter (where e.embedding_type = 'reasoning') as reasoning_similarity,
      max(e.similarity) filter (where e.embedding_type = 'context') as context_similarity,
      (array_agg(e.chunk_index order by e.similarity desc) filter (where e.embedding_type = 'content'))[1] as chunk
    from candidates c
    cross join lateral (
      -- OFFSET keeps the subquery, which looks up the vectors of one memory.
      select c.packet_id, e.embedding_type, e.chunk_index,
        (1 - (e.compared_vector operator(extensions.<=>) query_vector))::real as similarity
      from public.memory_embeddings e
      where e.packet_id = c.packet_id and e.model = request.model
        and (e.embedding_type = any (own_types) and c.similarity is null and (e.chunk_index = 0 or settings.uses_chunks)
          or e.embedding_type = 'content' and e.chunk_index = 0 and c.chunk > 0
          or e.embedding_type = 'context' and has_contexts and c.context_similarity is null)
        and (request.as_of is null or e.packet_id = any (unchanged_ids))
      offset 0
    ) e
    where compares and (c.similarity is null or c.chunk > 0 or (has_contexts and c.context_similarity is null))
      and (c.position <= case when c.similarity is null then 2 * request.k else request.k end or c.chunk > 0
        or request.threshold is not null)
    group by e.packet_id
  ), compared as materialized (
    select c.packet_id, c.bm25, c.context_bm25, c.found_by, c.path,
      search.trust_in_words(m.best, enough_words) as trust,
      (c.bm25 / m.best)::real as lexical_content, (c.context_bm25 / m.best)::real as lexical_context,
      coalesce(c.content_similarity, n.content_similarity) as content_similarity, n.whole_similarity,
      coalesce(c.reasoning_similarity, n.reasoning_similarity) as reasoning_similarity,
      coalesce(c.context_similarity, n.context_similarity) as context_similarity, coalesce(c.chunk, n.chunk) as chunk,
      greatest(c.content_similarity, n.content_similarity, c.reasoning_similarity, n.reasoning_similarity, c.context_similarity,
        n.context_similarity) as nearest
    from candidates c
    cross join (select nullif(greatest(max(c.bm25), max(c.context_bm25)), 0) as best from candidates c) m
    left join nearest n on n.packet_id = c.packet_id
  ), with_similarity as materialized (
    -- The formulas are inlined only if their arguments are plain columns; a call of each would take longer than all of the sums.
    select c.*, greatest(search.lift_by_chunk(c.content_similarity, c.whole_similarity, settings.chunk_weight),
      c.reasoning_similarity) as similarity
    from compared c
    -- The threshold stands outside the retrievers: inside, with too few hits, a scan would read its whole index.
    where request.threshold is null or c.nearest is null or 1 - c.nearest <= request.threshold
  ), not_negative as materialized (
    -- greatest() ignores nulls, so without the condition a candidate that was not compared would score 0.
    select s.*,
      case when s.similarity is not null then greatest(s.similarity, 0) end::real as own_similarity,
      case when s.context_similarity is not null then greatest(s.context_similarity, 0) end::real as lifting_similarity
    from with_similarity s
  ), scored as (
    select s.*,
      search.lift_by_context(s.lexical_content, s.lexical_context, settings.lexical_context_weight) as lexical_score,
      search.lift_by_context(s.own_similarity, s.lifting_similarity, settings.semantic_context_weight) as semantic_score
    from not_negative s
  ), ranked as materialized (
    select s.*,
      search.lift_by_path((case request.mode
        when 'recent' then 1
        when 'graph' then s.bm25
        when 'lexical' then s.lexical_score
        when 'semantic' then s.semantic_score
        else (settings.lexical_weight * coalesce(s.lexical_score * s.trust, 0)
            + settings.semantic_weight * coalesce(s.semantic_score, 0))
          / (settings.lexical_weight + settings.semantic_weight)
      end)::real, s.path) as fused
    from scored s
  ), named_speakers as materialized (
    select w.packet_id, w.thread, case when w.speaker is not null then search.plain_name(w.speaker) end as name
    from unnest(places.ids, places.threads, places.speakers) as w (packet_id, thread, speaker)
    where lifts
  ), placed as (
    select r.*, w.thread, search.is_named(w.name, named, first_names) as is_named,
      search.lift_by_speaker(r.fused, search.is_named(w.name, named, first_names), settings.speaker_boost) as spoken
    from ranked r left join named_speakers w on w.packet_id = r.packet_id
  ), in_threads as (
    -- A memory without a thread is a thread of its own.
    select m.*, max(m.spoken) over thread as thread_score, max(m.nearest) over thread as thread_nearest
    from placed m
    window thread as (partition by m.thread, case when m.thread is null then m.packet_id end)
  ), threaded as materialized (
    select m.*, search.lift_by_thread(m.spoken, m.thread_score, settings.thread_weight) as in_thread
    from in_threads m
  ), first_hits as materialized (
    select t.packet_id, t.in_thread from threaded t
    where lifts and settings.neighbour_weight > 0 and request.as_of is null
    order by t.in_thread desc nulls last, t.similarity desc nulls last, t.packet_id desc limit 3
  ), beside as (
    -- What was said before and after the first hits often belongs to the answer. A context has two memories of the same readers.
    select n.packet_id, max(l.in_thread) as score
    from first_hits l
    cross join lateral (
      select m.predecessor_id as packet_id from public.memory_contexts m where m.packet_id = l.packet_id
      union all select m.packet_id from public.memory_contexts m where m.predecessor_id = l.packet_id
      -- The planner would hash all contexts that the caller may read. OFFSET keeps the subquery, which looks up two.
      offset 0
    ) n
    group by n.packet_id
  ), conversing as (
    select t.*, b.score as neighbour_score,
      search.lift_by_neighbour(t.in_thread, b.score, settings.neighbour_weight) as lifted
    from threaded t left join beside b on b.packet_id = t.packet_id
  ), within_reach as (
    -- No boost can lift a candidate below this bound into the first k. The factor 1.0001 covers rounding errors of real numbers.
    select r.* from conversing r
    -- A memory that was compared is found however far it is, so that k hits are found if k memories are visible.
    where (r.lifted > 0 or r.semantic_score is not null)
      and r.lifted * search.max_boost(settings) * 1.0001 >= coalesce((
        select other.lifted from conversing other order by other.lifted desc nulls last offset request.k - 1 limit 1), 0)
  ), as_of_states as (
    -- Each row is looked up once, because every reference to a table evaluates its policies anew.
    select r.*, p.created_at, coalesce(past.valid_from, p.updated_at) as updated_at, p.words,
      past.packet_id is not null as is_past, past.language as past_language,
      case when past.packet_id is null then p.envelope else past.envelope end as envelope,
      case when past.packet_id is null then p."timestamp" else past."timestamp" end as "timestamp",
      case when past.packet_id is null then p.packet_type else past.packet_type end as kind,
      case when past.packet_id is null then p.scope else past.scope end as state_scope,
      case when past.packet_id is null then p.project_id else past.project_id end as state_project_id,
      case when past.packet_id is null then p.branch else past.branch end as state_branch,
      case when past.packet_id is null then p.thread_id else past.thread_id end as state_thread_id,
      case when past.packet_id is null then p.tags else past.tags end as tags,
      case when past.packet_id is null then p.speaker else past.speaker end as speaker,
      case when past.packet_id is null then p.metadata else past.metadata end as metadata,
      case when past.packet_id is null then p.importance_score else past.importance_score end as estimated_importance,
      case when past.packet_id is null then importance.importance_of(p, signals, now())
        else past.importance_score end as importance
    from within_reach r
    join public.packet_store p on p.packet_id = r.packet_id
    left join public.memory_signals signals on signals.packet_id = p.packet_id
    left join unnest(past_states) past on p.updated_at > request.as_of and past.packet_id = p.packet_id
    where request.as_of is null or p.updated_at <= request.as_of or past.packet_id is not null
  ), boosted as (
    select s.*, b.recency,
      case request.mode when 'recent' then 1 else search.boost(b.recency, s.importance, settings) end as factor
    from as_of_states s
    cross join lateral (
      select search.recency(
        coalesce(request.as_of, now()) - s."timestamp",
        coalesce(settings.half_life_days ->> s.kind, settings.half_life_days ->> 'default')::double precision) as recency
    ) b
  ), first_k as (
    select b.* from boosted b
    order by b.lifted * b.factor desc, b.similarity desc nulls last, b."timestamp" desc, b.packet_id desc limit request.k
  ), relevant as (
    select b.*, b.envelope ->> 'content' as content,
      row_number() over (
        order by b.lifted * b.factor desc, b.similarity desc nulls last, b."timestamp" desc, b.packet_id desc) as place,
      case when request.mode not in ('recent', 'graph') then search.relevance_of(
        search.lift_by_thread(b.nearest, b.thread_nearest, settings.thread_weight), s.word_share, are_pairs, of_few,
        request.relevance_midpoint, request.relevance_slope, request.relevance_word_slope) end as relevance
    from first_k b
    cross join lateral (
      -- The formula of search.word_share(), which would not be inlined.
      select (sum(w.weight) filter (where u.words[1] @@ w.test) / nullif(sum(w.weight), 0))::real as word_share
      from (
        -- An array holds its elements unpacked, so that this is done once instead of for each word of the query.
        select array[case when b.is_past then words.of_memory(b.envelope ->> 'content', b.past_language, b."timestamp", b.kind)
          else b.words end] as words
        offset 0
      ) u
      cross join unnest(word_tests, request.word_weights) as w (test, weight)
    ) s
  ), judged as (
    select r.*,
      -- What is related to an entity of the query has to do with it.
      coalesce(r.relevance >= request.min_relevance, true) or r.path is not null as is_relevant
    from relevant r
  ), kept as (
    -- One relevant memory answers the query, and then all are hits, unless the caller asked for relevant ones only.
    select j.*, case when request.cuts_each then j.is_relevant else bool_or(j.is_relevant) over () end as is_kept,
      bool_or(j.is_relevant) over () as is_answered
    from judged j
  )
  select
    array_agg(row(
      b.packet_id, null, case when shows_texts then left(b.content, 8000) end, length(b.content) > 8000,
      case when shows_texts then search.snippet(coalesce(chunk.chunk_text, search.passage(b.content, pattern)), pattern) end,
      b.lifted * b.factor, case when request.mode not in ('recent', 'graph') then b.lexical_score end, b.semantic_score, b.chunk,
      b.kind, b.state_scope, b.state_project_id, b.tags, b.state_thread_id, b.metadata ->> 'creator', b.importance,
      b.estimated_importance, b."timestamp", case when request.is_explained then jsonb_build_object(
        'found_by', b.found_by,
        'lexical', case when request.mode <> 'graph' then
          jsonb_build_object('content', b.lexical_content, 'context', b.lexical_context)
            || case when request.mode = 'hybrid' then jsonb_build_object('trust', b.trust) else '{}' end end,
        'semantic', jsonb_build_object('content', b.similarity, 'context', b.context_similarity),
        'graph', request.paths -> b.packet_id::text,
        'chunk', jsonb_build_object('index', b.chunk) || coalesce(chunk.metadata, '{}'),
        'weights', jsonb_build_object(
          'lexical', settings.lexical_weight, 'semantic', settings.semantic_weight,
          'lexical_context', settings.lexical_context_weight, 'semantic_context', settings.semantic_context_weight),
        'fused', b.fused,
        'conversation', jsonb_build_object(
          'speaker', b.is_named, 'thread', case when b.thread is not null then b.thread_score end,
          'neighbour', b.neighbour_score, 'lifted', b.lifted),
        'boosts', jsonb_build_object('recency', b.recency, 'importance', b.importance, 'factor', b.factor)) end,
      b.speaker, b.created_at, b.relevance, b.state_branch, null, b.updated_at
    )::public.memory_hit order by b.place), bool_or(b.is_answered),
    (select count(*)::integer from scored), (select count(*)::integer from kept k where not k.is_kept)
  into answer.hits, is_answered, answer.considered, answer.left_out
  from kept b
  left join lateral (
    -- OFFSET keeps the subquery, which is not run for hits without chunks.
    select e.chunk_text, e.metadata from public.memory_embeddings e
    where b.chunk > 0 and e.packet_id = b.packet_id and e.model = request.model and e.embedding_type = 'content'
      and e.chunk_index = b.chunk
    offset 0
  ) chunk on true
  where b.is_kept or not b.is_answered and b.place <= search.max_nearest();
  answer.nearest := case when is_answered then '{}' else coalesce(answer.hits, '{}') end;
  answer.hits := case when is_answered then answer.hits else '{}' end;
  return answer;
end $$;
comment on function search.fuse is 'The k best of the retrieved memories. Scores of words are relative to the best hit, scores '
  'of meaning are cosine similarities; each is lifted by context, then they are summed by weight, then boosted.';
grant execute on function search.places_of, search.fuse to l9_agent, l9_admin, l9_platform_admin;
