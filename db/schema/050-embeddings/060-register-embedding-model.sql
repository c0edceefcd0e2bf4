create function embeddings.embedding_type_name(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format(
  case when packets.is_embedded_engine() then 'extensions.vector(%s)' else 'extensions.halfvec(%s)' end, dimensions);

comment on function embeddings.embedding_type_name(integer) is 'The type that the indexes of a model hold: half precision on a server.';

create function embeddings.embedding_expression(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format('(extensions.subvector(vector, 1, %s)::%s)', dimensions, embeddings.embedding_type_name(dimensions));

comment on function embeddings.embedding_expression(integer) is
  'The expression over memory_embeddings that the indexes of a model hold: only the dimensions of that model. A search must use the same expression.';

create function embeddings.embedding_index_name(model text, embedding_type text, bucket integer)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.concat_ws('_', 'hnsw', embedding_type,
  pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(model, 'UTF8')), 'hex'), 16), bucket);

comment on function embeddings.embedding_index_name(text, text, integer) is
  'Name of the index of a model for one embedding type and one bucket of tenants. bucket is null if the type is not split into buckets.';

create function embeddings.embedding_indexes(model text)
returns table (name text, condition text)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select
    embeddings.embedding_index_name(model, t.kind, b.bucket),
    pg_catalog.format('model = %L and embedding_type = %L', model, t.kind)
      || coalesce(' and ' || packets.in_bucket('', b.bucket), '')
  from pg_catalog.unnest(embeddings.embedding_types()) as t (kind)
  -- Only indexes that searches scan in order of distance are split into buckets.
  cross join lateral pg_catalog.unnest(
    case when t.kind in ('content', 'context', 'reasoning') then packets.tenant_buckets() else array[null::integer] end) as b (bucket);
end;

comment on function embeddings.embedding_indexes(text) is
  'The indexes of a model: one for each embedding type and, for the types that searches scan, one for each bucket of tenants. name: of the index; condition: its predicate.';

create function public.register_embedding_model(model text, dimensions integer)
returns void
language plpgsql
volatile
security definer
set search_path = ''
set client_min_messages = warning
as $$
declare
  index record;
  registered_dimensions integer;
begin
  if model is null or not embeddings.is_model_name(model) then
    perform identity.raise_error('L9VAL', 'model: must be 1 to 100 letters, digits or ._/:@- and begin with a letter or digit', 'model');
  elsif dimensions is null or dimensions not between 1 and embeddings.max_dimensions() then
    perform identity.raise_error('L9VAL', format('dimensions: must be from 1 to %s', embeddings.max_dimensions()), 'dimensions');
  end if;
  insert into public.embedding_models as m (model, dimensions) values (model, dimensions) on conflict on constraint embedding_models_pkey do nothing;
  select m.dimensions into registered_dimensions from public.embedding_models m where m.model = register_embedding_model.model;
  if registered_dimensions <> dimensions then
    perform identity.raise_error(
      'L9VAL', format('dimensions: model %s is registered with %s dimensions', model, registered_dimensions), 'dimensions');
  end if;

  for index in select * from embeddings.embedding_indexes(model) loop
    execute format(
      'create index if not exists %I on public.memory_embeddings using hnsw ((%s) extensions.%s) where %s',
      index.name,
      embeddings.embedding_expression(dimensions),
      case when packets.is_embedded_engine() then 'vector_cosine_ops' else 'halfvec_cosine_ops' end,
      index.condition);
  end loop;
end
$$;

comment on function public.register_embedding_model(text, integer) is
  'Registers a model and creates its partial HNSW indexes. A second call changes nothing. Errors: L9VAL. Definer: only the owner of the table can create indexes.';

grant execute on function
  embeddings.embedding_index_name(text, text, integer), embeddings.embedding_type_name(integer), embeddings.embedding_expression(integer)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function public.register_embedding_model(text, integer) to l9_worker, l9_platform_admin;
