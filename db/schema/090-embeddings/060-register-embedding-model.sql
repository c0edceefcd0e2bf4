-- Registers an embedding model, with its indexes and the functions that scan them. Gateways call
-- register_embedding_model() when they start with a model or begin to change to one.
create function embeddings.embedding_type_name(dimensions integer) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.format('%s(%s)', embeddings.compared_vector_type(), dimensions);
comment on function embeddings.embedding_type_name is 'The type of a model''s compared vectors, with its dimensions.';

create function embeddings.embedding_expression(dimensions integer) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.format('(compared_vector::%s)', embeddings.embedding_type_name(dimensions));
comment on function embeddings.embedding_expression is 'The expression that a model''s indexes hold, and that searches use.';

create function embeddings.embedding_index_name(model text, embedding_type text, bucket integer) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.concat_ws('_', 'hnsw', embedding_type,
  pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(model, 'UTF8')), 'hex'), 16), bucket);
comment on function embeddings.embedding_index_name is 'Name of the index of a model for one embedding type and one bucket of '
  'tenants. bucket is null in the name of the function that scans those of all buckets.';

create function embeddings.embedding_indexes(model text) returns table (name text, condition text)
language sql stable parallel safe set search_path = ''
begin atomic
  select
    embeddings.embedding_index_name(model, t.kind, b.bucket),
    pg_catalog.format('model = %L and embedding_type = %L and %s', model, t.kind, packets.in_bucket('', b.bucket))
  from pg_catalog.unnest(embeddings.embedding_types()) as t (kind)
  cross join pg_catalog.unnest(packets.tenant_buckets()) as b (bucket);
end;
comment on function embeddings.embedding_indexes is 'A model''s indexes, one per embedding type and bucket: name, condition.';

create function embeddings.nearest_function_name(model text, embedding_type text) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.replace(embeddings.embedding_index_name(model, embedding_type, null), 'hnsw_', 'nearest_');
comment on function embeddings.nearest_function_name is 'Name of the function that scans a model''s indexes of one type.';

create function embeddings.nearest_statement(scan text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.format($sql$
  with nearest as materialized (%s)
  select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
    array_agg(f.chunk_index order by f.distance), (select count(*) from nearest)
  from (select distinct on (n.packet_id) n.* from nearest n order by n.packet_id, n.distance) f$sql$, scan);
comment on function embeddings.nearest_statement is 'The statement that returns the memories of a scan of vectors once each, '
  'nearest first, with their similarities and chunks, and the number of rows scanned.';

-- Builds the source of the function, with one branch for each bucket of tenants.
create function embeddings.create_nearest_function(model text, dimensions integer, embedding_type text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  scan constant text := $sql$
    select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) query as distance
    from public.memory_embeddings m
    where m.model = %2$L and m.embedding_type = %3$L and %4$s
      and (m.ttl is null or m.ttl > pg_catalog.now())
      and (searched_scopes is null or m.scope = any (searched_scopes))
      and (searched_project is null or m.project_id is null or m.project_id = searched_project)
      and (searched_branch is null or m.branch is null or m.branch = searched_branch)
      and (uses_chunks or m.chunk_index = 0)
    order by %1$s operator(extensions.<=>) query limit row_limit$sql$;
  name constant text := format('embeddings.%I', embeddings.nearest_function_name(model, embedding_type));
begin
  execute format($sql$
create or replace function %s(
  bucket integer, query %s, row_limit integer, searched_scopes text[], searched_project text, searched_branch text,
  uses_chunks boolean, out ids uuid[], out scores real[], out chunks integer[], out scanned bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $body$
begin
  case bucket%s
  end case;
end
$body$ $sql$,
    name, embeddings.compared_vector_type(), (
      select string_agg(format(' when %s then select n.* into ids, scores, chunks, scanned from (%s) n;', b.bucket,
        embeddings.nearest_statement(format(
          scan, embeddings.embedding_expression(dimensions), model, embedding_type, packets.in_bucket('m', b.bucket)))), '')
      from unnest(packets.tenant_buckets()) as b (bucket)));
  execute format('comment on function %s is %L', name, format(
    'The rows nearest to a vector that the caller may read, of type %s and made by %s, from the index of a bucket of tenants.',
    embedding_type, model));
  execute format('grant execute on function %s to l9_agent, l9_admin, l9_platform_admin', name);
end $$;
comment on function embeddings.create_nearest_function is 'Creates the function that scans the indexes of a model for one '
  'embedding type. It has one statement for each index, because the planner must know the index, and PostgreSQL keeps their '
  'plans: planning over dozens of indexes takes a fifth as long as the scan. The statements hold no text of a caller.';

create function embeddings.default_relevance(model text, out midpoint real, out slope real, out word_slope real)
language sql immutable parallel safe set search_path = ''
begin atomic
  select known.midpoint, known.slope, known.word_slope
  from (values
    -- Learned on judged questions and questions about other subjects: Cranfield, QMSum, code and paraphrases.
    (1, 'all-MiniLM-L6-v2%', 0.43::real, 25::real, 5::real),
    -- Not measured: set low, so that they leave out only what hardly any query means.
    (2, 'text-embedding-3-%', 0.25, 20, 3),
    (3, 'text-embedding-ada-002%', 0.76, 60, 3),
    -- Of an unknown model only what points away from the query is taken to be irrelevant.
    (4, '%', 0.15, 6, 2)) as known (place, pattern, midpoint, slope, word_slope)
  where default_relevance.model like known.pattern order by known.place limit 1;
end;
comment on function embeddings.default_relevance is 'A model''s first map to relevance: midpoint, slope, word_slope.';

-- Inserts the model if it is new, and then whatever index or function is missing, so that a repeated call does no harm.
create function public.register_embedding_model(model text, dimensions integer) returns void
language plpgsql volatile security definer set search_path = '' set client_min_messages = warning as $$
declare
  index record;
  registered_dimensions integer;
begin
  if model is null or not embeddings.is_model_name(model) then
    perform identity.raise_error('L9VAL', 'model: must be 1 to 100 letters, digits or ._/:@- and begin with a letter or digit');
  elsif dimensions is null or dimensions not between 1 and embeddings.max_dimensions() then
    perform identity.raise_error('L9VAL', format('dimensions: must be from 1 to %s', embeddings.max_dimensions()));
  end if;
  insert into public.embedding_models as m (model, dimensions, relevance_midpoint, relevance_slope, relevance_word_slope)
  select model, dimensions, r.midpoint, r.slope, r.word_slope from embeddings.default_relevance(model) as r
  on conflict on constraint embedding_models_pkey do nothing;
  select m.dimensions into registered_dimensions from public.embedding_models m where m.model = register_embedding_model.model;
  if registered_dimensions <> dimensions then
    perform identity.raise_error(
      'L9VAL', format('dimensions: model %s is registered with %s dimensions', model, registered_dimensions));
  end if;

  for index in select * from embeddings.embedding_indexes(model) loop
    -- Built with the default of 64, a graph misses up to a twentieth of the ten nearest where many memories resemble each
    -- other, however wide it is scanned. A text takes many times as long to embed as to enter the graph.
    execute format(
      'create index if not exists %I on public.memory_embeddings using hnsw ((%s) extensions.%s)
       with (ef_construction = 200) where %s',
      index.name, embeddings.embedding_expression(dimensions),
      case when packets.is_embedded_engine() then 'vector_cosine_ops' else 'halfvec_cosine_ops' end, index.condition);
  end loop;
  perform embeddings.create_nearest_function(model, dimensions, t.kind)
  from unnest(embeddings.embedding_types()) as t (kind);
end $$;
comment on function public.register_embedding_model is 'Registers a model and creates its partial HNSW indexes and the functions '
  'that scan them. A second call changes nothing. Errors: L9VAL. Definer: only the owner of the table can create indexes.';
grant execute on function embeddings.nearest_statement, embeddings.nearest_function_name, embeddings.embedding_index_name,
  embeddings.embedding_type_name, embeddings.embedding_expression to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function public.register_embedding_model to l9_worker, l9_platform_admin;
