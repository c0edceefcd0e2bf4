-- Inlined into its callers, which is why it sets no search_path: indexes and plans stay those of the written-out condition.
create function facts.holds_at(valid_from timestamptz, valid_to timestamptz, point_in_time timestamptz)
returns boolean
language sql
immutable
parallel safe
return valid_from <= point_in_time and (valid_to is null or valid_to > point_in_time);

comment on function facts.holds_at(timestamptz, timestamptz, timestamptz) is
  'True if the point in time lies in the validity of a fact: from valid_from, inclusive, to valid_to, exclusive; valid_to null means no end.';

create function facts.max_facts_per_read()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 100;

comment on function facts.max_facts_per_read() is 'The number of facts that one read returns at most.';

create function facts.check_k(k integer)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if k is null or k not between 1 and facts.max_facts_per_read() then
    perform identity.raise_error('L9LIM', format('k: must be from 1 to %s', facts.max_facts_per_read()), 'k');
  end if;
end
$$;

comment on function facts.check_k(integer) is 'Raises L9LIM unless k is from 1 to max_facts_per_read().';

grant execute on function
  facts.holds_at(timestamptz, timestamptz, timestamptz), facts.max_facts_per_read(), facts.check_k(integer)
to l9_agent, l9_admin, l9_platform_admin;
