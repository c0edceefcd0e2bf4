-- Scores memories by the words of a query (BM25). find_words() calls score_words() for the candidates that it has collected.
create function search.query_words(query text, languages text[]) returns text[]
language sql immutable parallel safe set search_path = ''
return array(
  select w.lexeme from pg_catalog.unnest(words.of_query_in(query, languages)) as w (lexeme)
  order by pg_catalog.length(w.lexeme) desc, w.lexeme collate "C" limit 64);
comment on function search.query_words is 'The words of a query that are scored: the 64 longest, because long words are rare.';

create type search.places as (ids uuid[], threads text[], speakers text[]);
comment on type search.places is 'Where memories stand in conversations: the thread of each, and its speaker.';

create type search.scored_words as (words search.ranked_memories, contexts search.ranked_memories, weights double precision[],
  average_length double precision, places search.places);
comment on type search.scored_words is 'BM25 scores of memories, alone and with predecessors, the weights used, and the places.';

create function search.thread_key(p public.packet_store) returns text language sql stable parallel safe
return case when p.thread_id is not null
  then row(p.thread_id, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope)::text end;
comment on function search.thread_key is 'Equal for memories of one thread that the same callers may read; null without one.';

-- One function for up to 4, 8, 16, 32 and 64 words, each with a formula for every word: a subquery over the words of each
-- memory would take several times as long. Their plans are kept, because planning takes as long as scoring a hundred memories.
do $$
declare
  most integer;
begin
  foreach most in array '{4,8,16,32,64}'::integer[] loop
    execute format($sql$
      -- Reads each text once, counts how often it has each word, and computes the scores of memories alone and of memories
      -- with their predecessors from the same counts.
      create function search.score_%1$s_words(queries tsquery[], any_query tsquery, ids uuid[], context_ids uuid[],
        weights double precision[], average_length double precision, as_of timestamptz, wants_places boolean)
      returns search.scored_words
      language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
        set enable_seqscan = off
        -- The planner expects few rows of each CTE, and would join thousands with thousands row by row.
        set enable_nestloop = off set work_mem = '32MB' set plan_cache_mode = force_generic_plan as $body$
      declare
        answer search.scored_words;
      begin
        with pairs as materialized (
          select c.packet_id, c.predecessor_id from public.memory_contexts c where c.packet_id = any (context_ids)
        ), texts as materialized (
          -- Most texts have none of the words. An array holds its elements unpacked, so that this is done once for all words.
          select p.packet_id, p.word_count as length, case when w.words[1] @@ any_query then array[%2$s] end as times,
            case when wants_places then search.thread_key(p) end as thread, p.speaker
          from public.packet_store p
          cross join lateral (select array[p.words] as words offset 0) w
          where p.packet_id = any (ids || context_ids || array(select r.predecessor_id from pairs r))
            and (as_of is null or p.updated_at <= as_of)
        ), own as materialized (
          select t.packet_id, t.length, t.times from texts t where t.packet_id in (select i.id from unnest(ids) as i (id))
        ), used as materialized (
          -- Without weights, the given memories are all that match: then these are what a word is rare or frequent among.
          select coalesce(score_%1$s_words.average_length, (select greatest(avg(o.length), 1) from own o)) as average_length,
            coalesce(score_%1$s_words.weights, (select array[%3$s] from own o where o.times is not null)) as weights
        ), scored as materialized (
          -- The formula of ranking.saturation(), which would be called for each word of each memory.
          select false as is_context, o.packet_id, %4$s as score
          from own o cross join used u cross join lateral (select o.length / u.average_length as ratio offset 0) l
          where o.times is not null
          union all
          select true, r.packet_id, %5$s
          from pairs r
          join texts a on a.packet_id = r.packet_id
          join texts b on b.packet_id = r.predecessor_id
          cross join used u
          cross join lateral (select (a.length + b.length) / u.average_length as ratio offset 0) l
          where a.times is not null or b.times is not null
        )
        select
          (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc),
            array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
           from scored s where not s.is_context),
          (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc),
            array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
           from scored s where s.is_context),
          u.weights, u.average_length, case when wants_places then (
            select row(
              coalesce(array_agg(t.packet_id), '{}'), array_agg(t.thread), array_agg(t.speaker))::search.places
            from texts t where t.thread is not null or t.speaker is not null) end
        into answer.words, answer.contexts, answer.weights, answer.average_length, answer.places
        from used u;
        return answer;
      end $body$;
      comment on function search.score_%1$s_words is 'search.score_words() for up to %1$s words.';
      grant execute on function search.score_%1$s_words to l9_agent, l9_admin, l9_platform_admin;$sql$, most,
      (select string_agg(format('ranking.occurrences(ts_rank(''{1,1,1,1}'', w.words[1], queries[%s]))', n), ', ' order by n)
       from generate_series(1, most) as n),
      (select string_agg(
         format('ranking.word_weight(cardinality(ids), count(*) filter (where o.times[%s] > 0))', n), ', ' order by n)
       from generate_series(1, most) as n),
      (select string_agg(format('u.weights[%1$s] * (1.9 * o.times[%1$s] / (o.times[%1$s] + (0.54 + 0.36 * l.ratio)))', n), ' + '
         order by n)
       from generate_series(1, most) as n),
      (select string_agg(format('u.weights[%1$s] * (1.9 * %2$s / (%2$s + (0.54 + 0.36 * l.ratio)))', n,
         format('(coalesce(a.times[%1$s], 0) + coalesce(b.times[%1$s], 0))', n)), ' + ' order by n)
       from generate_series(1, most) as n));
  end loop;
end $$;

-- Calls the function for as many words as there are, or the next larger one, with words that no text has in the places left.
create function search.score_words(request search.search_request, lexemes text[], ids uuid[], context_ids uuid[],
  weights ranking.word_weights default null, wants_places boolean default false) returns search.scored_words
language plpgsql stable set search_path = pg_catalog, extensions as $$
declare
  words constant integer := coalesce(cardinality(lexemes), 0);
  most constant integer := case when words <= 4 then 4 when words <= 8 then 8 when words <= 16 then 16 when words <= 32 then 32
    else 64 end;
  queries tsquery[];
  any_query tsquery;
  answer search.scored_words;
begin
  if words = 0 or coalesce(cardinality(ids), 0) + coalesce(cardinality(context_ids), 0) = 0 then
    return answer;
  end if;
  queries := array(
    select ranking.lexeme_query(l.lexeme) from unnest(lexemes) with ordinality as l (lexeme, place) order by l.place);
  any_query := array_to_string(queries, ' | ');
  -- No text has the words that are missing up to the number of a function.
  queries := queries || array_fill(ranking.lexeme_query(' '), array[most - words]);
  if weights.weights is not null then
    weights.weights := weights.weights || array_fill(0::double precision, array[most - words]);
  end if;
  ids := coalesce(ids, '{}');
  context_ids := coalesce(context_ids, '{}');
  case most
  when 4 then
    answer := search.score_4_words(queries, any_query, ids, context_ids, weights.weights, weights.average_length,
      request.as_of, wants_places);
  when 8 then
    answer := search.score_8_words(queries, any_query, ids, context_ids, weights.weights, weights.average_length,
      request.as_of, wants_places);
  when 16 then
    answer := search.score_16_words(queries, any_query, ids, context_ids, weights.weights, weights.average_length,
      request.as_of, wants_places);
  when 32 then
    answer := search.score_32_words(queries, any_query, ids, context_ids, weights.weights, weights.average_length,
      request.as_of, wants_places);
  else
    answer := search.score_64_words(queries, any_query, ids, context_ids, weights.weights, weights.average_length,
      request.as_of, wants_places);
  end case;
  answer.weights := answer.weights[:words];
  return answer;
end $$;
comment on function search.score_words is 'BM25 scores of memories, and with their predecessors (context_ids). Without weights, '
  'ids are all matches, and words are weighed by rarity among them. wants_places: also where the memories stand.';
grant execute on function search.query_words, search.thread_key, search.score_words to l9_agent, l9_admin, l9_platform_admin;
