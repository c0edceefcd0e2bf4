-- What the writer of a memory is told whose kind is nearly that of another one. save_memory() and memory_store() call
-- kind_notice().

-- The rows of the table of distances, of which the last two are kept: two letters that changed places are one slip.
create function kinds.slips_between(one text, other text) returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  before_last integer[];
  last integer[] := array(select n from generate_series(0, length(other)) as n);
  current integer[];
  cost integer;
begin
  for a in 1 .. length(one) loop
    current := array[a];
    for b in 1 .. length(other) loop
      cost := case when substr(one, a, 1) = substr(other, b, 1) then 0 else 1 end;
      current[b + 1] := least(last[b + 1] + 1, current[b] + 1, last[b] + cost);
      if a > 1 and b > 1 and substr(one, a - 1, 2) = reverse(substr(other, b - 1, 2)) then
        current[b + 1] := least(current[b + 1], before_last[b - 1] + 1);
      end if;
    end loop;
    before_last := last;
    last := current;
  end loop;
  return last[length(other) + 1];
end $$;
comment on function kinds.slips_between is 'How many letters are wrong, missing, too many or have changed places with the next.';

create function kinds.kind_notice(kind text) returns text
language sql stable security definer set search_path = ''
begin atomic
  select pg_catalog.format('No kind is named %s; did you mean %s? It was saved as a free kind.', kind, near.name)
  from (
    select k.name, kinds.slips_between(kind, k.name) as slips
    from (
      select m.kind from public.memory_kinds m where m.tenant_id is null or m.tenant_id = identity.current_tenant_id()
      union all select pg_catalog.unnest(kinds.reserved())) as k (name)
    where pg_catalog.abs(pg_catalog.length(k.name) - pg_catalog.length(kind)) <= 2) as near
  -- Of a short word nearly every letter tells it apart, and who mistypes a word rarely does so at its first letter.
  where kind <> all (kinds.reserved())
    and near.slips between 1 and case
      when pg_catalog.length(near.name) > 5 and pg_catalog.left(near.name, 1) = pg_catalog.left(kind, 1) then 2 else 1 end
  order by near.slips, near.name limit 1;
end;
comment on function kinds.kind_notice is 'The kind that was probably meant by one that the caller''s tenant has not registered '
  'and no part of l9-memory writes; null if it resembles none. Memories have no part in it. Definer: reads the kinds of the '
  'caller''s tenant at once, in the middle of a save.';
grant execute on function kinds.kind_notice to l9_agent, l9_admin;
