-- Conditions as text, with their values in them, so that each statement is planned for the filters that are there.

create function search.own_conditions(alias text, scopes text[], project_id text)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.concat_ws(' and ',
  pg_catalog.format('(%1$I.ttl is null or %1$I.ttl > now())', alias),
  case when scopes is not null then pg_catalog.format('%I.scope = any (%L::text[])', alias, scopes) end,
  case when project_id is not null then
    pg_catalog.format('(%1$I.project_id = %2$L or %1$I.project_id is null)', alias, project_id) end);

comment on function search.own_conditions(text, text[], text) is
  'Conditions on expiry, scope and project, for any table that carries its memory''s.';

create function search.packet_conditions(
  alias text, kinds text[], tags text[], tags_match text, since timestamptz, until timestamptz, thread_id text, creator text,
  but_not uuid)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.concat_ws(' and ',
  case when kinds is not null then pg_catalog.format('%I.packet_type = any (%L::text[])', alias, kinds) end,
  case when tags is not null then pg_catalog.format(
    '%I.tags operator(pg_catalog.%s) %L::text[]', alias, case tags_match when 'all' then '@>' else '&&' end, tags) end,
  -- When it was saved, which a change leaves as it is.
  case when since is not null then pg_catalog.format('p."timestamp" >= %L', since) end,
  case when until is not null then pg_catalog.format('p."timestamp" < %L', until) end,
  case when thread_id is not null then pg_catalog.format('%I.thread_id = %L', alias, thread_id) end,
  case when creator is not null then pg_catalog.format('%I.metadata ->> ''creator'' = %L', alias, creator) end,
  case when but_not is not null then pg_catalog.format('p.packet_id <> %L', but_not) end), '');

comment on function search.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid) is
  'Conditions on what a memory, or (as v) a version of it, says of itself; null where there are none.';

create function search.reader_branches(me identity.identity, alias text, scopes text[], project_id text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
begin atomic
  -- Each is one range of an index: a condition with "or" would be checked row by row behind it.
  select pg_catalog.array_agg(pg_catalog.concat_ws(' and ',
    case when me.role <> 'l9_platform_admin' then
      pg_catalog.format('%1$I.tenant_id = %2$L and %1$I.scope = any (%3$L::text[])', alias, me.tenant_id, scopes) end,
    case when me.role = 'l9_agent' then
      pg_catalog.format('%1$I.user_id %2$s and %1$I.org_id %3$s', alias, of_user.condition, of_org.condition) end,
    case when of_project.condition is not null then pg_catalog.format('%I.project_id %s', alias, of_project.condition) end))
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
  ) as of_project (condition);
end;

comment on function search.reader_branches(identity.identity, text, text[], text) is
  'What a caller may read, as conditions of which each is a range of an index. Row-level security stands behind them: they only find it sooner.';

create function search.searched_buckets(me identity.identity)
returns integer[]
language sql
stable
parallel safe
set search_path = ''
return case when me.role = 'l9_platform_admin' then packets.tenant_buckets() else array[packets.tenant_bucket(me.tenant_id)] end;

comment on function search.searched_buckets(identity.identity) is 'The buckets whose indexes a caller''s search walks: its tenant''s; an operator''s, all.';

grant execute on function
  search.searched_buckets(identity.identity),
  search.own_conditions(text, text[], text),
  search.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid),
  search.reader_branches(identity.identity, text, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
