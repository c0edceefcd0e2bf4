create function duplicates.similarity_threshold()
returns real
language sql
immutable
parallel safe
set search_path = ''
return 0.75;

comment on function duplicates.similarity_threshold() is
  'From which similarity on two memories say nearly the same. Judged pairs: docs/explanation/duplicates.md.';

create function duplicates.find_similar(
  content text, scope text, project_id text, kind text, org_id uuid, user_id uuid, except_id uuid default null,
  content_vector extensions.vector default null, model text default null)
returns table (packet_id uuid, similarity real, content_hash bytea)
language plpgsql
stable
-- pg_textsearch looks up a function of its own by an unqualified name when it plans.
set search_path = pg_catalog, extensions
-- What says nearly the same is among the nearest of all, whoever may see those: so no iteration, and a bounded cost.
set hnsw.iterative_scan = 'off'
set hnsw.ef_search = 100
set max_parallel_workers_per_gather = 0
set enable_sort = off
-- As in walk_words().
set pg_textsearch.filtered_seed = off
as $$
#variable_conflict use_variable
declare
  small_place constant integer := 50;
  candidates_each constant integer := 10;
  tenant_id uuid := identity.current_tenant_id();
  -- Long words are the rare ones, so these are enough to find it by.
  long_words text[] := array(
    select t.word from unnest(duplicates.distinct_words(left(content, 65536))) as t (word)
    order by length(t.word) desc, t.word limit 12);
  long_stems text[] := array(
    select coalesce(nullif((ts_lexize('pg_catalog.english_stem', t.word))[1], ''), t.word) from unnest(long_words) as t (word));
  dimensions integer;
  candidates uuid[];
  near uuid[];
  in_place integer;
  -- $1 to $7, in each of the statements.
  project text := 'p.tenant_id = $1 and p.scope = $2 and '
    || case when project_id is null then '$3 is null and p.project_id is null' else 'p.project_id = $3' end;
  place text := 'p.packet_type = $4 and p.org_id is not distinct from $5 and p.user_id is not distinct from $6'
    || ' and p.packet_id is distinct from $7 and (p.ttl is null or p.ttl > now())';
begin
  -- Where there are few, all of them are compared: next to nothing to find is what an index walks longest for.
  execute format($sql$
    select count(*), array_agg(f.packet_id) filter (where f.is_in_place)
    from (select p.packet_id, %s as is_in_place from public.packet_store p where %s limit %s) f$sql$,
    place, project, small_place + 1)
  into in_place, candidates
  using tenant_id, scope, project_id, kind, org_id, user_id, except_id;

  if in_place > small_place then
    -- As in search_memory: a statement of its own, two spellings.
    execute format($sql$
      select array_agg(f.packet_id)
      from (
        select p.packet_id,
          (p.envelope ->> 'content') <@> to_bm25query($8, '' || %4$L) as distance
        from public.packet_store p
        where %1$s and %5$s and %2$s
        order by (p.envelope ->> 'content') <@> to_bm25query($8, %4$L)
        limit %3$s
      ) f
      where f.distance < 0$sql$, project, place, candidates_each,
      'public.packet_store_content_bm25_' || packets.tenant_bucket(tenant_id),
      packets.in_bucket('p', packets.tenant_bucket(tenant_id)))
    into candidates
    using tenant_id, scope, project_id, kind, org_id, user_id, except_id, array_to_string(long_words[1:8], ' ');

    select m.dimensions into dimensions from public.embedding_models m
    where m.model = find_similar.model and m.state = 'serving' and vector_dims(content_vector) = 1536;
    if found then
      execute format($sql$
        select array_agg(f.packet_id)
        from (
          select p.packet_id
          from public.memory_embeddings e
          join public.packet_store p on p.packet_id = e.packet_id
          where e.model = %3$L and e.embedding_type = 'content' and %8$s and %7$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s
          limit %5$s
        ) f$sql$,
        embeddings.embedding_expression(dimensions), embeddings.embedding_type_name(dimensions), model, place,
        candidates_each, dimensions, project, packets.in_bucket('e', packets.tenant_bucket(tenant_id)))
      into near
      using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector;
    end if;
  end if;

  candidates := candidates || near;
  if candidates is null then
    return;
  end if;
  return query
  with compared as materialized (
    select p.packet_id, p.content_hash,
      case
        -- Where both agree on numbers, names and negations, being near in meaning lifts it a quarter of the way to the cosine.
        -- More would make `writes to` and `reads from` the same: their cosine is .97.
        when not w.are_told_apart then greatest(w.similarity, (3 * w.similarity + (
          select (1 - (e.vector operator(extensions.<=>) content_vector))::real
          from public.memory_embeddings e
          where e.packet_id = p.packet_id and e.model = find_similar.model and e.embedding_type = 'content'
            and e.chunk_index = 0 and vector_dims(content_vector) = 1536)) / 4)
        else w.similarity
      end as similarity
    from public.packet_store p
    cross join lateral (
      select c.* from duplicates.compare_words(content, p.envelope ->> 'content') c
      -- What lacks half of the long words is not worth comparing word by word.
      where (
        select 2 * count(*) filter (where position(s.stem in lowered.text) > 0) >= count(*)
        from (select lower(p.envelope ->> 'content') as text offset 0) lowered, unnest(long_stems) as s (stem))
      offset 0
    ) w
    where p.packet_id = any (candidates)
  )
  select c.packet_id, least(c.similarity, 1)::real, c.content_hash
  from compared c
  where c.similarity >= duplicates.similarity_threshold()
  order by c.similarity desc, c.packet_id
  limit candidates_each;
end
$$;

comment on function duplicates.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text) is
  'Memories of one owner, scope, project and kind that say nearly the same as a text, among those the caller may read, most similar first. By words, and where a vector of the text is given, by meaning.';

create function duplicates.similar_to_memory(packet_id uuid, content_vector extensions.vector default null, model text default null)
returns public.similar_memory[]
language sql
stable
set search_path = ''
return coalesce((
  select pg_catalog.array_agg(row(s.packet_id, s.similarity)::public.similar_memory order by s.similarity desc, s.packet_id)
  from public.packet_store p
  cross join lateral duplicates.find_similar(
    p.envelope ->> 'content', p.scope, p.project_id, p.packet_type, p.org_id, p.user_id, p.packet_id,
    content_vector, model) s
  where p.packet_id = similar_to_memory.packet_id), '{}');

comment on function duplicates.similar_to_memory(uuid, extensions.vector, text) is
  'As find_similar, for a memory that is saved: what the gateway reports after a save that keeps both.';

grant execute on function
  duplicates.similarity_threshold(),
  duplicates.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text),
  duplicates.similar_to_memory(uuid, extensions.vector, text)
to l9_agent, l9_admin;
