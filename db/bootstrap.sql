-- Roles, schemas and extensions. Run once in the target database as a superuser (`l9-memory db setup` does it);
-- running it again changes nothing. Everything after this file works without superuser rights.

do $$
declare
  wanted text;
begin
  -- l9_owner owns every object and runs the migrations; FORCE ROW LEVEL SECURITY binds it like anyone else.
  -- l9_gateway is what the gateway logs in as. It inherits nothing: every statement runs as one of the roles below.
  -- No password is set here: a role without one cannot log in over the network.
  foreach wanted in array array['l9_owner', 'l9_gateway'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute pg_catalog.format('create role %I login', wanted);
    end if;
  end loop;
  foreach wanted in array array['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute pg_catalog.format('create role %I nologin', wanted);
    end if;
  end loop;
end
$$;

alter role l9_owner nosuperuser nocreatedb nocreaterole nobypassrls inherit;
alter role l9_gateway nosuperuser nocreatedb nocreaterole nobypassrls noinherit;
alter role l9_agent nosuperuser nobypassrls;
alter role l9_admin nosuperuser nobypassrls;
alter role l9_platform_admin nosuperuser nobypassrls;
alter role l9_worker nosuperuser nobypassrls;

comment on role l9_owner is 'Owns the schema and runs migrations. Not a superuser; row-level security is forced on it too.';
comment on role l9_gateway is 'What the gateway logs in as. Granted nothing itself: it may only become one of the roles below.';
comment on role l9_agent is 'C (Cursor) and other agents: sees the scopes and projects of its claims, changes only its own memories.';
comment on role l9_admin is 'L: administrator within its tenant, across its orgs and users.';
comment on role l9_platform_admin is 'Operators: across tenants.';
comment on role l9_worker is 'Background jobs: reads contents to embed, writes embeddings, nothing else.';

grant l9_agent, l9_admin, l9_platform_admin, l9_worker to l9_gateway with inherit false, set true;

do $$
begin
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format(
    'grant connect on database %I to l9_owner, l9_gateway, l9_agent, l9_admin, l9_platform_admin, l9_worker',
    pg_catalog.current_database());
  -- A materialized view is refreshed beside its readers by way of a temporary table of its owner's.
  execute pg_catalog.format('grant temporary on database %I to l9_owner', pg_catalog.current_database());
  -- graphile-migrate keeps its bookkeeping in a schema that l9_owner makes; graphile-worker's belongs to l9_worker.
  execute pg_catalog.format('grant create on database %I to l9_owner, l9_worker', pg_catalog.current_database());
end
$$;

create schema if not exists extensions;
create extension if not exists vector with schema extensions;
-- Its planner hook, which spares computing each score twice, looks for its operator on the search_path of the session:
-- where every session finds it is pg_catalog.
create extension if not exists pg_textsearch with schema pg_catalog;
create extension if not exists pgcrypto with schema extensions;
do $$
declare
  elsewhere text;
begin
  -- In a database that was there before, as one with the old tables, they may live in another schema. What uses their
  -- types goes on doing so; who names them without a schema needs `extensions` in its search_path.
  for elsewhere in
    select e.extname from pg_catalog.pg_extension e
    where e.extname in ('vector', 'pgcrypto') and e.extnamespace <> 'extensions'::pg_catalog.regnamespace
  loop
    execute pg_catalog.format('alter extension %I set schema extensions', elsewhere);
  end loop;
end
$$;
grant usage on schema extensions to l9_owner, l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- What PostgreSQL and its extensions let everybody do with a table whose rows a policy hides: see how many were written
-- and when, how large they are, who waits for whom, and tidy its index up. Also large objects, which know no policies and
-- leave no audit row. For those who watch over the server there is pg_monitor.
do $$
declare
  routine regprocedure;
  is_statistic boolean;
begin
  for routine, is_statistic in
    select p.oid::regprocedure, p.proname ~ '^pg_'
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and pg_catalog.has_function_privilege('public', p.oid, 'execute')
      and (p.proname ~ '^pg_stat_get_'
        or p.proname in ('pg_relation_size', 'pg_table_size', 'pg_indexes_size', 'pg_total_relation_size', 'pg_lock_status')
        or p.proname ~ '^(lo_.*|loread|lowrite)$'
        or p.proname in ('bm25_spill_index', 'bm25_force_merge', 'bm25_compact', 'bm25_compact_step', 'bm25_needs_compaction',
          'bm25_level_counts', 'bm25_debug_scoring_passes'))
  loop
    execute pg_catalog.format('revoke execute on function %s from public', routine);
    if is_statistic then
      execute pg_catalog.format('grant execute on function %s to pg_monitor, l9_owner', routine);
    end if;
  end loop;
end
$$;

revoke all on schema public from public;
alter schema public owner to l9_owner;

-- What keeps append-only tables append-only, whoever owns them. It is a superuser's, so that l9_owner, who may change
-- every table, can't change this. Only a superuser gets past it: by disabling these event triggers, or by such DDL itself.
create schema if not exists l9_guard;
revoke all on schema l9_guard from public;
grant usage on schema l9_guard to l9_owner;

create table if not exists l9_guard.append_only (
  table_name text primary key,
  parent text,
  noticed_at timestamptz not null default now()
);
revoke all on l9_guard.append_only from public;

create or replace function l9_guard.tg_append_only()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  raise exception using errcode = 'L9IMM', message = pg_catalog.format('%s is append-only', tg_table_name);
end
$$;

create or replace function l9_guard.is_intact(relation oid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from pg_catalog.pg_class c
    where c.oid = relation and c.relkind in ('r', 'p') and c.relpersistence = 'p' and c.relrowsecurity and c.relforcerowsecurity
      -- The trigger: before update, delete and truncate (58), for each statement, always, under no condition.
      and exists (
        select from pg_catalog.pg_trigger t
        where t.tgrelid = c.oid and t.tgfoid = 'l9_guard.tg_append_only()'::pg_catalog.regprocedure
          and t.tgtype = 58 and t.tgenabled = 'A' and t.tgqual is null and t.tgattr::text = '')
      -- Nothing that could swallow a row that is added: no rule, no trigger before insert.
      and not exists (select from pg_catalog.pg_rewrite r where r.ev_class = c.oid)
      and not exists (
        select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgtype & 6 = 6)
      and not exists (
        select from pg_catalog.pg_inherits i where i.inhparent = c.oid and not l9_guard.is_intact(i.inhrelid)));
$$;

create or replace function l9_guard.tg_guard()
returns event_trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  is_superuser boolean := (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = role_name);
  broken text;
  watched record;
  is_archived boolean;
begin
  if is_superuser then
    delete from l9_guard.append_only g where to_regclass(g.table_name) is null;
  elsif tg_event = 'table_rewrite' then
    select g.table_name into broken from l9_guard.append_only g
    where to_regclass(g.table_name) = pg_event_trigger_table_rewrite_oid();
  elsif tg_event = 'sql_drop' then
    select d.object_identity into broken
    from pg_event_trigger_dropped_objects() d
    where d.object_type = 'table' and exists (select from l9_guard.append_only g where g.table_name = d.object_identity)
      or d.object_type in ('trigger', 'policy', 'table column', 'table constraint') and exists (
        select from l9_guard.append_only g
        where g.table_name = format('%I.%I', d.address_names[1], d.address_names[2]))
      -- Triggers that write the audit rows of other tables go only with their table.
      or d.object_type = 'trigger' and d.address_names[3] like '\_500\_audit%' and not exists (
        select from pg_event_trigger_dropped_objects() gone
        where gone.object_type = 'table' and gone.address_names = d.address_names[1:2])
    limit 1;
  else
    select g.table_name into broken from l9_guard.append_only g
    where not coalesce(l9_guard.is_intact(to_regclass(g.table_name)), false) limit 1;
    if broken is null then
      select t.tgname || ' on ' || t.tgrelid::regclass into broken from pg_catalog.pg_trigger t
      where t.tgname like '\_500\_audit%' and t.tgenabled not in ('O', 'A') limit 1;
    end if;
  end if;
  if broken is not null then
    raise exception using errcode = 'L9IMM', message = format('%s: only a superuser may change what keeps the record whole', broken);
  end if;
  if tg_event <> 'ddl_command_end' then
    return;
  end if;

  -- A partition leaves its table only once that is on the record: l9_owner's tables are read after they were found intact.
  for watched in
    select g.table_name, g.parent, now.parent as parent_now
    from l9_guard.append_only g
    left join lateral (
      select format('%I.%I', n.nspname, c.relname) as parent
      from pg_catalog.pg_inherits i
      join pg_catalog.pg_class c on c.oid = i.inhparent
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where i.inhrelid = to_regclass(g.table_name)
    ) as now on true
    where g.parent is distinct from now.parent
  loop
    if watched.parent is not null and not is_superuser then
      is_archived := false;
      if exists (select from l9_guard.append_only g where g.table_name = 'public.audit_archives') then
        execute 'select exists (select from public.audit_archives a where a.table_name = $1)' into is_archived using watched.table_name;
      end if;
      if not is_archived then
        raise exception using errcode = 'L9IMM',
          message = format('%s: only detach_audit_partition() or a superuser may detach it', watched.table_name);
      end if;
    end if;
    update l9_guard.append_only g set parent = watched.parent_now where g.table_name = watched.table_name;
  end loop;

  -- Whatever has its trigger, and is otherwise as it must be, is append-only from then on.
  insert into l9_guard.append_only (table_name, parent)
  select format('%I.%I', n.nspname, c.relname), (
    select format('%I.%I', pn.nspname, p.relname)
    from pg_catalog.pg_inherits i
    join pg_catalog.pg_class p on p.oid = i.inhparent
    join pg_catalog.pg_namespace pn on pn.oid = p.relnamespace
    where i.inhrelid = c.oid)
  from pg_catalog.pg_trigger t
  join pg_catalog.pg_class c on c.oid = t.tgrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where t.tgfoid = 'l9_guard.tg_append_only()'::regprocedure and l9_guard.is_intact(c.oid)
  on conflict (table_name) do nothing;
end
$$;

revoke all on function l9_guard.tg_append_only(), l9_guard.is_intact(oid), l9_guard.tg_guard() from public;
grant execute on function l9_guard.tg_append_only() to l9_owner;

comment on schema l9_guard is 'Keeps append-only tables append-only, whoever owns them. A superuser''s: what is here, l9_owner can''t change.';
comment on table l9_guard.append_only is 'Tables that were once seen to be append-only, and must stay so.';
comment on column l9_guard.append_only.table_name is 'Schema and name.';
comment on column l9_guard.append_only.parent is 'The partitioned table it is a partition of.';
comment on column l9_guard.append_only.noticed_at is 'When it was first seen.';
comment on function l9_guard.tg_append_only() is 'Refuses every UPDATE, DELETE and TRUNCATE of the table whose trigger it is.';
comment on function l9_guard.is_intact(oid) is
  'Whether a table is append-only: row-level security forced, its trigger always on, nothing that could swallow a new row; its partitions too.';
comment on function l9_guard.tg_guard() is
  'Refuses DDL, of anyone but a superuser, after which an append-only table, or a trigger that writes audit rows, would be gone or no longer what it was. Definer: its list is nobody else''s.';

do $$
begin
  if not exists (select from pg_catalog.pg_event_trigger where evtname = 'l9_guard_state') then
    create event trigger l9_guard_state on ddl_command_end
      when tag in ('ALTER TABLE', 'ALTER TRIGGER', 'ALTER SCHEMA', 'CREATE TABLE', 'CREATE TRIGGER', 'CREATE RULE')
      execute function l9_guard.tg_guard();
  end if;
  if not exists (select from pg_catalog.pg_event_trigger where evtname = 'l9_guard_drops') then
    create event trigger l9_guard_drops on sql_drop execute function l9_guard.tg_guard();
  end if;
  if not exists (select from pg_catalog.pg_event_trigger where evtname = 'l9_guard_rewrites') then
    create event trigger l9_guard_rewrites on table_rewrite execute function l9_guard.tg_guard();
  end if;
end
$$;
