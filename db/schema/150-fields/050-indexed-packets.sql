-- Finds memories through the indexed fields of a where. Searches call indexed_packets() to narrow down what they look
-- at. A condition must let every match through; the envelope then decides.
create function fields.value_condition(operators jsonb) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  wanted constant jsonb := coalesce(operators -> 'in', case when operators ? 'eq' then jsonb_build_array(operators -> 'eq') end);
  texts text[];
  numbers double precision[];
  bounds text;
begin
  if wanted is not null then
    if exists (
      select from jsonb_array_elements(wanted) as w (value)
      where jsonb_typeof(w.value) = 'number' and not pg_input_is_valid(w.value::text, 'double precision')) then
      return null;
    end if;
    texts := array(
      select left(w.value #>> '{}', 200) from jsonb_array_elements(wanted) as w (value) where jsonb_typeof(w.value) <> 'number');
    numbers := array(
      select w.value::text::double precision from jsonb_array_elements(wanted) as w (value)
      where jsonb_typeof(w.value) = 'number');
    return concat_ws(' or ',
      case when texts <> '{}' then format('v.text_value = any (%L::text[])', texts) end,
      case when numbers <> '{}'
        then format('v.number_value is not null and v.number_value = any (%L::double precision[])', numbers) end);
  end if;
  -- A double is a number rounded, so bounds are included, and the envelope decides.
  select string_agg(
    format('v.number_value %s %L::double precision', case when left(o.key, 1) = 'g' then '>=' else '<=' end, o.value::text),
    ' and ')
  into bounds
  from jsonb_each(operators) o
  where o.key in ('gt', 'gte', 'lt', 'lte') and jsonb_typeof(o.value) = 'number'
    and pg_input_is_valid(o.value::text, 'double precision');
  if bounds is not null then
    return 'v.number_value is not null and ' || bounds;
  end if;
  return (
    select 'v.time_value is not null and ' || string_agg(
      format('v.time_value %s %L::timestamptz',
        case when left(o.key, 1) = 'g' then '>=' else '<=' end, kinds.field_time(o.value, ends_day => o.key = 'lte')), ' and ')
    from jsonb_each(operators) o
    where o.key in ('gt', 'gte', 'lt', 'lte') and kinds.field_time(o.value) is not null);
end $$;
comment on function fields.value_condition is 'A condition that holds for all values of these operators; null if unknown.';

-- Asks the index of each field in turn, keeps the shortest list of memories, and stops once it has at most a hundred.
create function fields.indexed_packets("where" jsonb, max_packets integer) returns uuid[]
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off as $$
declare
  field record;
  condition text;
  packet_ids uuid[];
  fewest uuid[];
begin
  -- An operator reads every tenant, and each tenant has indexes of its own.
  if identity.current_role_name() = 'l9_platform_admin' then
    return null;
  end if;
  for field in
    select i.field as name, packets.operators_of("where" -> i.field) as operators
    from public.field_indexes i
    where i.tenant_id = (select identity.current_tenant_id()) and "where" ? i.field order by i.field
  loop
    condition := nullif(fields.value_condition(field.operators), '');
    continue when condition is null;
    execute format($sql$
      select coalesce(array_agg(distinct f.packet_id), '{}')
      from (
        select v.packet_id from public.field_values v where v.tenant_id = $1 and v.field = $2 and (%s)
        union all
        select v.packet_id from public.field_values v where v.tenant_id = $1 and v.field = $2 and v.has_more
        limit %s
      ) f$sql$, condition, max_packets + 1)
    into packet_ids
    using identity.current_tenant_id(), field.name;
    if cardinality(packet_ids) <= max_packets and (fewest is null or cardinality(packet_ids) < cardinality(fewest)) then
      fewest := packet_ids;
    end if;
    exit when cardinality(fewest) <= 100;
  end loop;
  return fewest;
end $$;
comment on function fields.indexed_packets is 'Memories that the caller may read and among which are all that satisfy a where, '
  'found through the index of one of its fields. Null if no field is indexed, or if every index proposes more than max_packets.';
grant execute on function fields.value_condition, fields.indexed_packets to l9_agent, l9_admin, l9_platform_admin;
