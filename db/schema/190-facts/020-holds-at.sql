-- The condition that a fact is true at a point in time, for the functions that find facts, in the graph and in the
-- world model too.

-- Inlined into its callers, which is why it sets no search_path: indexes and plans stay those of the written-out condition.
create function facts.holds_at(valid_from timestamptz, valid_to timestamptz, point_in_time timestamptz) returns boolean
language sql immutable parallel safe return valid_from <= point_in_time and (valid_to is null or valid_to > point_in_time);
comment on function facts.holds_at is 'True from valid_from, inclusive, to valid_to, exclusive; null: no end.';
grant execute on function facts.holds_at to l9_agent, l9_admin, l9_platform_admin;
