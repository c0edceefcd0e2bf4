-- The conditions of a search. search_memory(), memory_find, recall_lessons() and find_where() put them together.
-- Conditions are SQL text with their values quoted in it, so that each statement is planned for the filters it has.
create function search.own_conditions(alias text, scopes text[], project_id text, branch text, checks_expiry boolean default true)
returns text
language sql stable parallel safe set search_path = ''
return pg_catalog.concat_ws(' and ',
  case when checks_expiry then pg_catalog.format('(%1$I.ttl is null or %1$I.ttl > now())', alias) else 'true' end,
  case when scopes is not null then pg_catalog.format('%I.scope = any (%L::text[])', alias, scopes) end,
  case when project_id is not null then
    pg_catalog.format('(%1$I.project_id = %2$L or %1$I.project_id is null)', alias, project_id) end,
  case when branch is not null then
    pg_catalog.format('(%1$I.branch = %2$L or %1$I.branch is null)', alias, branch) end);
comment on function search.own_conditions is 'Conditions on expiry (unless checks_expiry is false), scope, project, branch.';

create function search.archived_condition(alias text, hides_archived boolean) returns text
language sql immutable parallel safe set search_path = ''
return case when hides_archived then pg_catalog.format('(%1$I.archived_at is null or %1$I.archived_at > now())', alias) end;
comment on function search.archived_condition is 'The condition that leaves out archived memories; null if wanted.';

create function search.packet_conditions(
  alias text, kinds text[], tags text[], tags_match text, since timestamptz, until timestamptz, thread_id text, creator text,
  excluded_packet_id uuid, speaker text default null, fields packets.where_condition default null) returns text
language sql stable parallel safe set search_path = ''
return nullif(pg_catalog.concat_ws(' and ',
  case when kinds is not null then pg_catalog.format('%I.packet_type = any (%L::text[])', alias, kinds) end,
  case when tags is not null then pg_catalog.format(
    'packets.tag_keys(%I.tags) operator(pg_catalog.%s) %L::text[]', alias, case tags_match when 'all' then '@>' else '&&' end,
    packets.wanted_tag_keys(tags)) end,
  case when since is not null then pg_catalog.format('%I."timestamp" >= %L', alias, since) end,
  case when until is not null then pg_catalog.format('%I."timestamp" < %L', alias, until) end,
  case when thread_id is not null then pg_catalog.format('%I.thread_id = %L', alias, thread_id) end,
  case when creator is not null then pg_catalog.format('%I.metadata ->> ''creator'' = %L', alias, creator) end,
  case when excluded_packet_id is not null then pg_catalog.format('p.packet_id <> %L', excluded_packet_id) end,
  case when speaker is not null then pg_catalog.format('pg_catalog.lower(%I.speaker) = pg_catalog.lower(%L)', alias, speaker) end,
  packets.where_conditions(alias, fields)), '');
comment on function search.packet_conditions is 'Conditions on the fields of a memory or, with alias v, a version.';

-- Combines, column by column of the index, the values that a readable row can have: null or the reader's user and
-- org, null or the projects, null or the branch.
create function search.reader_ranges(me identity.identity, alias text, scopes text[], project_id text, branch text default null)
returns text[]
language sql stable parallel safe set search_path = ''
begin atomic
  -- Each of these is one range of an index. A single condition with "or" would filter row by row after an index scan.
  select pg_catalog.array_agg(pg_catalog.concat_ws(' and ',
    case when me.role <> 'l9_platform_admin' then
      pg_catalog.format('%1$I.tenant_id = %2$L and %1$I.scope = any (%3$L::text[])', alias, me.tenant_id, scopes) end,
    case when me.role = 'l9_agent' then
      pg_catalog.format('%1$I.user_id %2$s and %1$I.org_id %3$s', alias, of_user.condition, of_org.condition) end,
    case when of_project.condition is not null then pg_catalog.format('%I.project_id %s', alias, of_project.condition) end,
    case when of_branch.condition is not null then pg_catalog.format('%I.branch %s', alias, of_branch.condition) end))
  from (
    select 'is null' union all
    select pg_catalog.format('= %L', me.user_id) where me.user_id is not null and me.role = 'l9_agent') as of_user (condition)
  cross join (
    select 'is null' union all
    select pg_catalog.format('= %L', me.org_id) where me.org_id is not null and me.role = 'l9_agent') as of_org (condition)
  cross join (
    select null where project_id is null and '*' = any (me.projects) union all
    select 'is null' where project_id is not null or not '*' = any (me.projects) union all
    select pg_catalog.format('= %L', project_id) where project_id is not null union all
    select pg_catalog.format('= any (%L::text[])', me.projects) where project_id is null and not '*' = any (me.projects)
  ) as of_project (condition)
  cross join (
    select null where branch is null union all
    select 'is null' where branch is not null union all
    select pg_catalog.format('= %L', branch) where branch is not null) as of_branch (condition);
end;
comment on function search.reader_ranges is 'Conditions for the rows that a caller may read in a project and a branch of it '
  '(null: all), each of which is one range of an index. They only make the search faster: row-level security still applies.';

create function search.searched_buckets(me identity.identity) returns integer[]
language sql stable parallel safe set search_path = ''
return case when me.role = 'l9_platform_admin' then packets.tenant_buckets() else array[packets.tenant_bucket(me.tenant_id)] end;
comment on function search.searched_buckets is 'The buckets whose indexes a search scans: its tenant''s, or an operator''s all.';
grant execute on function search.searched_buckets, search.own_conditions, search.archived_condition, search.packet_conditions,
  search.reader_ranges to l9_agent, l9_admin, l9_platform_admin;
