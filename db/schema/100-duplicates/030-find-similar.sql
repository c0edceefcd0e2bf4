-- Finds near-duplicates of a text. resolve_similar(), similar_to_memory() and reflect() call find_similar().
create function duplicates.similarity_threshold() returns real language sql immutable parallel safe set search_path = ''
return 0.75;
comment on function duplicates.similarity_threshold is 'The lowest similarity at which two memories count as near-duplicates. '
  'docs/explanation/duplicates.md lists the pairs it was judged on.';

-- A place with few memories is compared whole. In others the candidates are the best by words and the nearest by meaning.
create function duplicates.find_similar(
  content text, scope text, project_id text, branch text, kind text, org_id uuid, user_id uuid, except_id uuid default null,
  content_vector extensions.vector default null, model text default null)
returns table (packet_id uuid, similarity real, content_hash bytea)
language plpgsql stable
-- pg_textsearch looks up one of its functions by an unqualified name at planning time.
set search_path = pg_catalog, extensions
-- The scan goes on past rows of other places, which must not push a near-duplicate out.
set hnsw.iterative_scan = 'relaxed_order' set hnsw.ef_search = 100 set max_parallel_workers_per_gather = 0
-- ranking.walk_words() explains this setting.
set enable_sort = off
-- What waits for a review is no duplicate of anything.
set l9.withheld = 'none' as $$
declare
  max_compared constant integer := 50;
  max_candidates constant integer := 10;
  tenant_id uuid := identity.current_tenant_id();
  -- Long words are rare ones, so twelve of them are enough to find a near-duplicate.
  long_words text[] := array(
    select t.word from unnest(duplicates.distinct_words(left(content, duplicates.max_parsed_chars()))) as t (word)
    order by length(t.word) desc, t.word limit 12);
  long_stems text[] := array(
    select coalesce(nullif((ts_lexize('pg_catalog.english_stem', t.word))[1], ''), t.word) from unnest(long_words) as t (word));
  given duplicates.used_word[];
  rare_words text[];
  languages text[];
  place ranking.word_filter;
  dimensions integer;
  candidates uuid[];
  nearest uuid[];
  place_count integer;
  -- Both conditions use $1 to $7 and $9 of the statements below.
  project_condition text := 'p.tenant_id = $1 and p.scope = $2 and '
    || case when project_id is null then '$3 is null and p.project_id is null' else 'p.project_id = $3' end
    || case when branch is null then ' and $9 is null and p.branch is null' else ' and p.branch = $9' end;
  place_condition text := 'p.packet_type = $4 and p.org_id is not distinct from $5 and p.user_id is not distinct from $6'
    || ' and p.packet_id is distinct from $7 and (p.ttl is null or p.ttl > now())';
begin
  if length(content) > duplicates.max_compared_chars() then
    return;
  end if;
  -- A place with few memories is compared whole: an index scan is slowest where next to nothing matches.
  execute format($sql$
    select count(*), array_agg(f.packet_id) filter (where f.is_same_place), array_agg(distinct f.language)
    from (select p.packet_id, p.language, %s as is_same_place from public.packet_store p where %s limit %s) f$sql$,
    place_condition, project_condition, max_compared + 1)
  into place_count, candidates, languages
  using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector, branch;

  if place_count > max_compared then
    -- As the words of the memories there are stored.
    rare_words := (
      select array_agg(distinct w.word)
      from unnest(long_words[1:8]) as l (word) cross join lateral unnest(words.of_query_in(l.word, languages[1:3])) as w (word));
    place.scopes := array[scope];
    place.project_id := project_id;
    place.branch := branch;
    place.is_exact_place := true;
    place.org_id := org_id;
    place.user_id := user_id;
    place.kinds := array[kind];
    place.excluded_packet_id := except_id;
    candidates := (ranking.find_by_words(
      rare_words, (ranking.weigh_words(rare_words, array[scope], project_id)).weights, place, max_candidates)).ids;

    select m.dimensions into dimensions from public.embedding_models m
    where m.model = find_similar.model and m.state = 'serving' and vector_dims(content_vector) = 1536;
    if found then
      -- Of several that are equally far, the index returns any, depending on rows that the caller cannot read: where they
      -- would not all be candidates, none of them is.
      execute format($sql$
        with nearest as materialized (
          select p.packet_id, %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s as distance
          from public.memory_embeddings e
          join public.packet_store p on p.packet_id = e.packet_id
          where e.model = %3$L and e.embedding_type = 'content' and %8$s and %7$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s limit %5$s + 1
        )
        select array_agg(n.packet_id) from nearest n
        where n.distance < (select case when count(*) > %5$s then max(o.distance) else 'infinity' end from nearest o)$sql$,
        embeddings.embedding_expression(dimensions), embeddings.embedding_type_name(dimensions), model, place_condition,
        max_candidates, dimensions, project_condition, packets.in_bucket('e', packets.tenant_bucket(tenant_id)))
      into nearest
      using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector, branch;
    end if;
  end if;

  candidates := candidates || nearest;
  if candidates is null then
    return;
  end if;
  given := duplicates.used_words(content);
  return query
  with compared as materialized (
    select p.packet_id, p.content_hash,
      -- Similar meaning raises the similarity a quarter of the way to the cosine. More would equate `writes to` and
      -- `reads from`, whose cosine is .97.
      greatest(w.similarity, (3 * w.similarity + (
        select (1 - (e.vector operator(extensions.<=>) content_vector))::real
        from public.memory_embeddings e
        where e.packet_id = p.packet_id and e.model = find_similar.model and e.embedding_type = 'content'
          and e.chunk_index = 0 and vector_dims(content_vector) = 1536)) / 4) as similarity
    from public.packet_store p
    cross join lateral (
      select c.* from duplicates.compare_used_words(given, duplicates.used_words(p.envelope ->> 'content'), p.language) c
      -- A candidate without half of the long words is not worth comparing word by word.
      where (
        select 2 * count(*) filter (where position(s.stem in lowered.text) > 0) >= count(*)
        from (select lower(p.envelope ->> 'content') as text offset 0) lowered, unnest(long_stems) as s (stem))
      offset 0
    ) w
    where not w.is_distinguished and p.packet_id = any (candidates)
      and length(p.envelope ->> 'content') <= duplicates.max_compared_chars()
      -- The same words in another case or indentation that tells are another text.
      and (p.content_hash <> packets.content_hash(find_similar.content)
        or packets.text_identity(p.envelope ->> 'content') = packets.text_identity(find_similar.content))
  )
  select c.packet_id, least(c.similarity, 1)::real, c.content_hash
  from compared c
  where c.similarity >= duplicates.similarity_threshold() order by c.similarity desc, c.packet_id limit max_candidates;
end $$;
comment on function duplicates.find_similar is 'Near-duplicates of a text among memories of one owner, scope, project, branch '
  'and kind that the caller may read, most similar first. It compares words and, if a vector of the text is given, meaning. A '
  'text whose differing words hold a negation, a value or an opposite is not one.';
grant execute on function duplicates.similarity_threshold, duplicates.find_similar to l9_agent, l9_admin;
