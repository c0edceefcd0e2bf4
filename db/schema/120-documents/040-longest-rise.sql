-- Which sections of a document stayed in their order: place_sections() calls longest_rise() with their old places.
-- For each number a binary search finds the longest rise that it can continue.
create function documents.longest_rise(numbers integer[]) returns integer[]
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- ends[k]: the place of the smallest number with which a rise of k numbers can end. before[p]: the place before p in its rise.
  ends integer[] := '{}';
  before integer[] := array_fill(null::integer, array[cardinality(numbers)]);
  longest integer := 0;
  low integer;
  high integer;
  middle integer;
  at integer;
  rise integer[] := '{}';
begin
  for place in 1..cardinality(numbers) loop
    low := 1;
    high := longest;
    while low <= high loop
      middle := (low + high) / 2;
      if numbers[ends[middle]] < numbers[place] then
        low := middle + 1;
      else
        high := middle - 1;
      end if;
    end loop;
    before[place] := case when low > 1 then ends[low - 1] end;
    ends[low] := place;
    longest := greatest(longest, low);
  end loop;
  at := ends[longest];
  while at is not null loop
    rise := rise || numbers[at];
    at := before[at];
  end loop;
  return rise;
end $$;
comment on function documents.longest_rise is 'The numbers of a longest rising part of a list, with gaps; all differ.';
grant execute on function documents.longest_rise to l9_agent, l9_admin;
