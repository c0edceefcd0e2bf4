-- The retriever over words. find_hits() calls find_words() for modes hybrid and lexical; so do the routes of
-- memory_find and its suggestions.
create function search.first_candidates(found search.ranked_memories, candidates integer, others uuid[] default '{}')
returns search.ranked_memories
language sql immutable parallel safe set search_path = ''
return (
  select row(pg_catalog.array_agg(f.id order by f.place), pg_catalog.array_agg(f.score order by f.place),
    null)::search.ranked_memories
  from unnest(found.ids, found.scores) with ordinality as f (id, score, place)
  -- Hashed: any() would compare each of thousands of memories with hundreds.
  where f.place <= candidates or f.id in (select o.id from unnest(others) as o (id)));
comment on function search.first_candidates is 'The best of these memories, and those others that another retriever found.';

create function search.successors(request search.search_request, ids uuid[]) returns uuid[]
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- For the statement that has parameters only.
set plan_cache_mode = force_generic_plan as $$
declare
  answer uuid[];
begin
  if not request.joins_packets then
    return array(
      select m.packet_id from public.memory_contexts m
      where m.predecessor_id = any (ids) and (m.ttl is null or m.ttl > now())
        and (request.requested_scopes is null or m.scope = any (request.requested_scopes))
        and (request.project_id is null or m.project_id = request.project_id or m.project_id is null)
        and (request.branch is null or m.branch = request.branch or m.branch is null));
  end if;
  execute format($sql$
    select array_agg(m.packet_id)
    from public.memory_contexts m join public.packet_store p on p.packet_id = m.packet_id
    where m.predecessor_id = any ($1) and %s$sql$, request.current_condition)
  into answer
  using ids;
  return answer;
end $$;
comment on function search.successors is 'The memories that follow these in their threads and match the search.';

create function search.matching(request search.search_request, ids uuid[]) returns uuid[]
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  answer uuid[];
begin
  execute format(
    $sql$select coalesce(array_agg(p.packet_id order by array_position($1, p.packet_id)), '{}') from public.packet_store p
      where p.packet_id = any ($1) and %s$sql$,
    request.current_condition)
  into answer
  using ids;
  return answer;
end $$;
comment on function search.matching is 'Those of these memories that match the search, in the same order.';

create function search.not_archived(ids uuid[]) returns uuid[]
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
  set plan_cache_mode = force_generic_plan as $$
declare
  -- The index of the few that have such a time answers this, where reading each memory would take a tenth of a search.
  archived constant uuid[] := array(
    select p.packet_id from public.packet_store p where p.packet_id = any (ids) and p.archived_at <= now());
begin
  return case when archived = '{}' then ids else array(
    select i.id from unnest(ids) with ordinality as i (id, place) where i.id <> all (archived) order by i.place) end;
end $$;
comment on function search.not_archived is 'Those of these memories that are not archived by now, in the same order.';

-- Collects candidates, from the few matches or from the index of words, adds what follows the best of them and what
-- was found by meaning, and scores all of them by one call.
create function search.find_words(
  request search.search_request, lexemes text[], found_by_meaning uuid[], wants_places boolean default false)
returns search.scored_words
language plpgsql stable set search_path = '' as $$
declare
  uses_contexts constant boolean := request.as_of is null and (request.settings).lexical_context_weight > 0
    and request.context_ids is distinct from '{}';
  weights ranking.word_weights;
  found ranking.scored_memories;
  candidate_ids uuid[];
  successors uuid[];
  answer search.scored_words;
begin
  if request.ids is not null and request.as_of is null then
    return search.score_words(request, lexemes, request.ids, case when uses_contexts then request.context_ids end,
      wants_places => wants_places);
  end if;
  weights := case when (request.weighed).weights is null
    then ranking.weigh_words(lexemes, request.requested_scopes, request.project_id) else request.weighed end;
  if request.ids is not null then
    -- Texts that changed since are not among ids, but must be weighed by the same weights.
    candidate_ids := request.ids;
  else
    found := ranking.find_by_words(
      lexemes, weights.weights, request.word_filter, request.candidates, weights.average_length);
    candidate_ids := found.ids;
    if request.joins_packets then
      -- The filter need not state every condition of the search.
      candidate_ids := search.matching(request, candidate_ids);
    end if;
  end if;
  if request.ids is null and not (request.joins_packets or uses_contexts or wants_places) and found_by_meaning is null then
    -- The index's own reading of these texts is enough.
    answer.words := (
      select row(array_agg(f.id order by f.score desc, f.id desc), array_agg(f.score::real order by f.score desc, f.id desc),
        null)::search.ranked_memories
      from unnest(found.ids, found.length_scores) as f (id, score));
    answer.weights := weights.weights;
    answer.average_length := weights.average_length;
    return answer;
  end if;
  if uses_contexts then
    successors := search.successors(request, candidate_ids[:(search.as_context_search(request)).candidates]);
    if request.hides_archived and not request.joins_packets then
      successors := search.not_archived(successors);
    end if;
  end if;
  if request.ids is null then
    -- What is found by its meaning is scored by its words too, so that every candidate is scored by the same sum.
    candidate_ids := candidate_ids || array(
      -- Hashed, as in search.first_candidates().
      select distinct f.id from unnest(found_by_meaning) as f (id)
      where f.id not in (select c.id from unnest(candidate_ids) as c (id)));
  end if;
  answer := search.score_words(request, lexemes, candidate_ids, case when uses_contexts then candidate_ids || successors end,
    weights, wants_places);
  answer.weights := weights.weights;
  answer.average_length := weights.average_length;
  return answer;
end $$;
comment on function search.find_words is 'Retriever over the words of memories, alone and together with their predecessors in '
  'the thread. If few memories match, all are scored; otherwise the candidates of the index are, the memories that follow the '
  'best of them, and those that were found by meaning. Long memories are scored as a whole: BM25 weights a word by the length of '
  'its text.';
grant execute on function search.first_candidates, search.successors, search.matching, search.not_archived, search.find_words to
  l9_agent, l9_admin, l9_platform_admin;
