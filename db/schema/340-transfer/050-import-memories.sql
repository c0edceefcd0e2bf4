-- Takes lines of an export back. l9-memory import calls import_memories() over GraphQL, with the lines of one kind at a time.

create function transfer.raise_in_line(line integer, kind text, state text, message text, rule text, "column" text, detail text)
returns void
language plpgsql stable set search_path = '' as $$
begin
  -- Messages of PostgreSQL quote values, which may be contents.
  raise exception using
    errcode = case when state ~ '^L9' then state else 'L9VAL' end,
    message = format('line %s: ', line) || case
      when state ~ '^L9' then message
      when state ~ '^23505' then format('%s: another row has the same identity (%s)', kind, rule)
      when state ~ '^23' and rule <> '' then format('%s: breaks the rule %s', kind, rule)
      else format('%s: has a value that does not fit its column', kind) end,
    column = "column",
    detail = case when state ~ '^L9' then detail else '' end;
end $$;
comment on function transfer.raise_in_line is 'Raises an error of a row as one about its line, without values.';

create function transfer.check_header(line text, number integer) returns void
language plpgsql stable set search_path = '' as $$
declare
  header constant jsonb := case when pg_input_is_valid(line, 'jsonb') then line::jsonb end;
begin
  if header ->> 'format' is distinct from 'l9-memory' then
    perform identity.raise_error('L9VAL', format('line %s: format: must be l9-memory', number), 'format');
  elsif header -> 'version' is distinct from to_jsonb(transfer.version()) then
    perform identity.raise_error('L9VAL',
      format('line %s: version: this database reads version %s of the format', number, transfer.version()), 'version');
  elsif header ? 'tenant_id' and header ->> 'tenant_id' is distinct from identity.current_tenant_id()::text then
    perform identity.raise_error('L9SCP', format('line %s: tenant_id: another tenant exported this', number), 'tenant_id');
  end if;
end $$;
comment on function transfer.check_header is 'Raises L9VAL for a header of another format or version, and L9SCP for that of '
  'another tenant.';

-- A key that is no column is refused rather than dropped: it may be of a later version, or misspelt.
create function transfer.check_line(line text, number integer) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  read jsonb;
  this transfer.kind;
  given jsonb;
  unknown text;
begin
  if not pg_input_is_valid(line, 'jsonb') then
    perform identity.raise_error('L9VAL', format('line %s: is no JSON that can be stored', number), 'lines');
  end if;
  read := line::jsonb;
  if jsonb_typeof(read) <> 'object' or (select count(*) from jsonb_object_keys(read)) <> 1 then
    perform identity.raise_error('L9VAL', format('line %s: must be an object with one key, its kind', number), 'lines');
  end if;
  select k.* into this from transfer.kinds() k where read ? k.kind;
  given := read -> this.kind;
  if this.kind is null or jsonb_typeof(given) <> 'object' then
    perform identity.raise_error('L9VAL', format('line %s: must hold a row of a known kind', number), 'lines');
  elsif given ? 'tenant_id' and given ->> 'tenant_id' is distinct from identity.current_tenant_id()::text then
    perform identity.raise_error('L9SCP', format('line %s: %s.tenant_id: not your tenant', number, this.kind), 'tenant_id');
  end if;
  select g.key into unknown from jsonb_object_keys(given) as g (key)
  where g.key <> all (transfer.columns_of(this)) and g.key is distinct from this.parts and g.key <> 'tenant_id' limit 1;
  if found then
    perform identity.raise_error('L9VAL', format('line %s: %s: has a key that is no column of it', number, this.kind), 'lines');
  elsif not given ?& array_remove(this.key, 'tenant_id')
    or this.parts is not null and jsonb_typeof(given -> this.parts) is distinct from 'array' then
    perform identity.raise_error('L9VAL', format('line %s: %s: lacks %s', number, this.kind,
      array_to_string(array_remove(this.key, 'tenant_id') || this.parts, ', ')), 'lines');
  end if;
  return jsonb_build_object(this.kind, given - 'tenant_id');
end $$;
comment on function transfer.check_line is 'A line as JSON. Raises L9VAL, with the number of the line, if it is no row of a '
  'kind, and L9SCP if it names another tenant.';

-- What rests on a memory that has expired, or was erased or left out before, goes with it.
create function transfer.left_out(kind transfer.kind, rows jsonb[]) returns boolean[]
language plpgsql stable set search_path = '' as $$
declare
  answer boolean[];
begin
  execute format('select array_agg(not (%s)%s order by g.place)
      from unnest($1) with ordinality as g (given, place), jsonb_populate_record(null::%s, g.given) as t',
    transfer.source_of(kind, 'infinity'),
    case when kind.target = 'packet_store' then ' or coalesce(t.ttl <= now(), false)
      or exists (select from public.memory_tombstones d where d.packet_id = t.packet_id)' else '' end,
    transfer.relation(kind.target))
  into answer using rows;
  return answer;
end $$;
comment on function transfer.left_out is 'Which rows have no place here: expired and erased memories, and what rests on them.';

create function transfer.with_known_parts(kind transfer.kind, rows jsonb[]) returns jsonb[]
language plpgsql stable set search_path = '' as $$
declare
  answer jsonb[];
begin
  if kind.parts is null then
    return rows;
  end if;
  execute format('select array_agg(g.given || jsonb_build_object(%L, (select coalesce(jsonb_agg(e.part order by e.place), ''[]'')
      from jsonb_array_elements(g.given -> %1$L) with ordinality as e (part, place),
        jsonb_populate_record(null::public.%I, e.part) as c where %s)) order by g.place)
    from unnest($1) with ordinality as g (given, place)',
    kind.parts, kind.parts_table, transfer.parts_condition_of(kind, 'infinity'))
  into answer using rows;
  return answer;
end $$;
comment on function transfer.with_known_parts is 'Rows without the parts that have no place here.';

create function transfer.stored(kind transfer.kind, rows jsonb[]) returns jsonb[]
language plpgsql stable set search_path = '' as $$
declare
  answer jsonb[];
begin
  execute format('select array_agg((select %s from %s t where %s and %s) order by g.place)
      from unnest($1) with ordinality as g (given, place), jsonb_populate_record(null::%2$s, g.given) as n',
    transfer.row_of(kind, 'infinity'), transfer.relation(kind.target),
    (select string_agg(case k.name when 'tenant_id' then 'true' else format('t.%I = n.%1$I', k.name) end, ' and ')
      from unnest(kind.key) as k (name)),
    case when transfer.has_tenant(kind.target) then 't.tenant_id = (select identity.current_tenant_id())' else 'true' end)
  into answer using rows;
  return answer;
end $$;
comment on function transfer.stored is 'The stored rows with the keys of these rows, in their order, as lines hold them.';

create function transfer.differing(given jsonb, stored jsonb) returns text
language sql immutable parallel safe set search_path = ''
return (
  select g.key from pg_catalog.jsonb_each(given) as g
  where g.value is distinct from stored -> g.key order by g.key limit 1);
comment on function transfer.differing is 'The first column in which a stored row differs from the given one; null if none does.';

-- Compares with what is stored twice: before, to skip what is there, and afterwards, because triggers may change a row.
create function transfer.take_rows(kind transfer.kind, numbers integer[], rows jsonb[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  out_of_place constant boolean[] := transfer.left_out(kind, rows);
  given constant jsonb[] := transfer.with_known_parts(kind, rows);
  before constant jsonb[] := transfer.stored(kind, given);
  afterwards jsonb[];
  fresh jsonb := '[]';
  -- What jobs make and count, or follows from other rows, goes on where it is.
  is_made_here constant boolean := kind.option = 'vectors' or kind.kind in ('signals', 'voice', 'world_entity');
  own_chain constant text := case when kind.option = 'audit' then transfer.own_chain() end;
  place integer;
  is_new boolean[];
  problem text;
begin
  for place in 1..cardinality(given) loop
    is_new[place] := not out_of_place[place]
      -- The log of this database is here already.
      and (given[place] ->> 'chain' = own_chain) is not true
      and case when is_made_here is true then before[place] is null
        else transfer.differing(given[place] - '{access_count}'::text[], before[place]) is not null end;
    if is_new[place] and before[place] is not null and not kind.is_setting
      and not (kind.kind = 'succession' and before[place] ->> 'superseded_by' is null) then
      perform identity.raise_error('L9VAL', format('line %s: %s.%s: differs from what is stored under this id', numbers[place],
        kind.kind, transfer.differing(given[place] - '{access_count}'::text[], before[place])), 'lines');
    end if;
  end loop;
  select coalesce(jsonb_agg(g.given order by g.place), '[]') into fresh
  from unnest(given) with ordinality as g (given, place) where is_new[g.place];
  if fresh <> '[]' then
    perform transfer.store_rows(kind.kind, fresh);
    afterwards := transfer.stored(kind, given);
    for place in 1..cardinality(given) loop
      problem := case when is_new[place] and kind.kind <> 'world_entity'
        then transfer.differing(given[place], afterwards[place]) end;
      if problem is not null then
        perform identity.raise_error('L9VAL',
          format('line %s: %s.%s: can''t be stored as it stands there', numbers[place], kind.kind, problem), problem);
      end if;
    end loop;
  end if;
  if kind.kind = 'world_entity' and (fresh <> '[]' or true = any (out_of_place)) then
    perform transfer.recompute_worlds(to_jsonb(given));
  end if;
  return jsonb_build_object('stored', jsonb_array_length(fresh),
    'left_out', (select count(*) from unnest(out_of_place) as o (is_out) where o.is_out),
    'present', (select count(*) from unnest(is_new, out_of_place) as n (is_new, is_out) where not n.is_new and not n.is_out));
end $$;
comment on function transfer.take_rows is 'Stores the rows of a kind that are not there yet, and raises L9VAL for one that is '
  'there with other contents, or that is not stored exactly as given.';

-- A batch that fails is tried again line by line, to tell which one is wrong; nothing of it is kept.
create function transfer.take_batch(kind transfer.kind, numbers integer[], rows jsonb[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  state text;
  message text;
  rule text;
  field text;
  detail text;
begin
  return transfer.take_rows(kind, numbers, rows);
exception when others then
  get stacked diagnostics state = returned_sqlstate, message = message_text, rule = constraint_name, field = column_name,
    detail = pg_exception_detail;
  if state !~ '^(22|23|L9)' or message ~ '^line \d+: ' then
    raise;
  elsif cardinality(rows) > 1 then
    for place in 1..cardinality(rows) loop
      perform transfer.take_batch(kind, numbers[place:place], rows[place:place]);
    end loop;
  end if;
  perform transfer.raise_in_line(numbers[1], kind.kind, state, message, rule, field, detail);
end $$;
comment on function transfer.take_batch is 'Stores rows as take_rows() does. An error names the line of the first wrong row.';

create function public.import_memories(lines text, first_line integer default 1) returns jsonb
language plpgsql volatile set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres'
set bytea_output = 'hex' set extra_float_digits = 1 as $$
declare
  given jsonb[];
  numbers integer[];
  this transfer.kind;
begin
  perform transfer.require_importer();
  if import_memories.lines ~ '^\{"format":[^\n]*$' then
    perform transfer.check_header(import_memories.lines, import_memories.first_line);
    return jsonb_build_object('stored', 0, 'present', 0, 'left_out', 0);
  end if;
  select array_agg(transfer.check_line(l.line, (import_memories.first_line + l.place - 1)::integer) order by l.place),
    array_agg((import_memories.first_line + l.place - 1)::integer order by l.place)
  into given, numbers
  from unnest(string_to_array(import_memories.lines, E'\n')) with ordinality as l (line, place)
  where l.line <> '';
  if given is null then
    perform identity.raise_error('L9VAL', 'lines: none is given');
  elsif cardinality(given) > 5000 then
    perform identity.raise_error('L9LIM', 'lines: at most 5000 at a time');
  end if;
  select k.* into this from transfer.kinds() k where given[1] ? k.kind;
  if exists (select from unnest(given) as g (line) where not g.line ? this.kind) then
    perform identity.raise_error('L9VAL', 'lines: must be of one kind');
  end if;
  given := array(select g.line -> this.kind from unnest(given) with ordinality as g (line, place) order by g.place);
  return transfer.take_batch(this, numbers, given);
end $$;
comment on function public.import_memories is 'Takes lines of an export as they are, first the header, then those of one kind at '
  'a time: ids, times, creators. Answers with the numbers stored, present and left_out (expired or erased). A row that is there '
  'with other contents is an error, which names its line, counted from first_line. For an administrator with every right in the '
  'tenant. Errors: L9VAL, L9SCP, L9SEC, L9LIM, L9AUT.';
grant execute on function transfer.check_header, transfer.check_line, transfer.left_out, transfer.with_known_parts,
  transfer.stored, transfer.differing, transfer.take_rows, transfer.take_batch, transfer.raise_in_line to l9_admin;

grant execute on function public.import_memories to l9_admin;
