-- Roles, schemas and extensions. Run once in the target database as a superuser (`l9-memory db setup` does it);
-- running it again changes nothing. Everything after this file works without superuser rights.
-- `l9-memory restore` runs the part about roles first, because a dump names them.

do $$
declare
  role_name text;
begin
  -- Two sessions can't change a role at once: the second one would fail. Advisory locks belong to one database, and roles to the server.
  lock table pg_catalog.pg_authid in share row exclusive mode;
  -- l9_owner owns every object and runs the migrations; with FORCE ROW LEVEL SECURITY the policies bind it too.
  -- l9_gateway is the login of the gateway. It inherits nothing: every statement runs as one of the roles below.
  -- l9_backup is the login of `l9-memory backup`.
  -- No password is set here, and a role without a password cannot log in over the network.
  foreach role_name in array array['l9_owner', 'l9_gateway', 'l9_backup'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      execute pg_catalog.format('create role %I login', role_name);
    end if;
  end loop;
  foreach role_name in array array['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker', 'l9_searcher'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      execute pg_catalog.format('create role %I nologin', role_name);
    end if;
  end loop;
end
$$;

alter role l9_owner nosuperuser nocreatedb nocreaterole nobypassrls inherit;
alter role l9_gateway nosuperuser nocreatedb nocreaterole nobypassrls noinherit;
-- A dump holds every row or is none, so no policy binds it. It can write nothing: it may read all tables, and execute no function.
alter role l9_backup nosuperuser nocreatedb nocreaterole bypassrls inherit;
alter role l9_backup set default_transaction_read_only = on;
grant pg_read_all_data to l9_backup;
alter role l9_agent nosuperuser nobypassrls;
alter role l9_admin nosuperuser nobypassrls;
alter role l9_platform_admin nosuperuser nobypassrls;
alter role l9_worker nosuperuser nobypassrls;
alter role l9_searcher nosuperuser nobypassrls;

comment on role l9_owner is
  'Owns the schema and runs migrations. It is no superuser, and row-level security is forced on it too.';
comment on role l9_gateway is 'Login of the gateway. It has no grants of its own and can only take one of the roles below.';
comment on role l9_backup is
  'Login of `l9-memory backup`: reads every row of every tenant, past the policies and without audit rows, and writes none.';
comment on role l9_agent is
  'C (Cursor) and other agents: they see the scopes and projects of their claims, and change only their own memories.';
comment on role l9_admin is 'L: administers its tenant, across orgs and users.';
comment on role l9_platform_admin is 'Operators: read and administer across tenants.';
comment on role l9_worker is 'Background jobs: they read contents and write only what jobs maintain, such as embeddings.';
comment on role l9_searcher is
  'Owns the functions that read the word index. Nobody logs in as it or takes it: its functions run for a caller, and policies let them read what that caller may read.';

-- The owner gives it those functions when it creates them.
grant l9_searcher to l9_owner with inherit false, set true;
grant l9_agent, l9_admin, l9_platform_admin, l9_worker to l9_gateway with inherit false, set true;

-- The database: rights on it, schemas and extensions.
do $$
begin
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format(
    'grant connect on database %I to l9_owner, l9_gateway, l9_backup, l9_agent, l9_admin, l9_platform_admin, l9_worker',
    pg_catalog.current_database());
  -- Refreshing a materialized view concurrently needs a temporary table of its owner.
  execute pg_catalog.format('grant temporary on database %I to l9_owner', pg_catalog.current_database());
  -- graphile-migrate creates its own schema as l9_owner, and graphile-worker creates its own as l9_worker.
  execute pg_catalog.format('grant create on database %I to l9_owner, l9_worker', pg_catalog.current_database());
end
$$;

create schema if not exists extensions;
create extension if not exists vector with schema extensions;
-- The planner hook of pg_textsearch, which avoids computing each score twice, finds its operator through the search_path of
-- the session. Every session has pg_catalog there.
create extension if not exists pg_textsearch with schema pg_catalog;
create extension if not exists pgcrypto with schema extensions;
create extension if not exists pg_trgm with schema extensions;
do $$
declare
  extension_name text;
begin
  -- In an existing database, such as one with the legacy tables, these extensions may be in another schema. Objects that use
  -- their types keep working, and statements find the types through the search_path below.
  for extension_name in
    select e.extname from pg_catalog.pg_extension e
    where e.extname in ('vector', 'pgcrypto', 'pg_trgm') and e.extnamespace <> 'extensions'::pg_catalog.regnamespace
  loop
    execute pg_catalog.format('alter extension %I set schema extensions', extension_name);
  end loop;
end
$$;
-- In every session, such as one of psql, `<=>` and the types of pgvector are found without their schema, in which no caller can
-- create anything. Functions do not depend on it: each has a search_path of its own.
do $$
begin
  execute pg_catalog.format('alter database %I set search_path = "$user", public, extensions', pg_catalog.current_database());
end
$$;
alter role l9_owner set search_path = "$user", public, extensions;
alter role l9_gateway set search_path = "$user", public, extensions;
-- Before the guard raises that a text has a secret, it keeps the statement, in which the text may be written out, from the log.
grant set on parameter log_min_error_statement to l9_owner;
-- Functions that leave out what waits for a review say so by a setting of their own.
grant set on parameter l9.withheld to l9_owner;
grant usage on schema extensions to l9_owner, l9_gateway, l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;

-- PostgreSQL and its extensions let every role read some facts about a table whose rows a policy hides: how many rows were
-- written and when, how large they are, and which sessions wait for locks; and let it maintain the word index. Large objects
-- have no policies and leave no audit row. These functions are revoked here; monitoring uses the role pg_monitor.
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
-- Only functions of the owner compact the indexes of words.
grant execute on function pg_catalog.bm25_needs_compaction(regclass), pg_catalog.bm25_compact_step(regclass) to l9_owner;

-- PostgreSQL shows the sessions of other logins only to members of pg_monitor, together with the texts of their statements. These
-- functions belong to a superuser and tell nothing but times and sizes, so that no role of l9-memory has to be such a member.
create schema if not exists l9_monitor;
revoke all on schema l9_monitor from public;
grant usage on schema l9_monitor to l9_worker;

create or replace function l9_monitor.longest_transaction_seconds()
returns double precision
language sql
volatile
security definer
set search_path = ''
as $$
  select coalesce(max(extract(epoch from clock_timestamp() - a.xact_start)), 0)::double precision
  from pg_catalog.pg_stat_activity a
  where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid();
$$;

create or replace function l9_monitor.replication_lag()
returns table (replica text, lag_seconds double precision, lag_bytes bigint)
language sql
volatile
security definer
set search_path = ''
as $$
  select r.application_name, coalesce(max(extract(epoch from r.replay_lag)), 0)::double precision,
    max(pg_wal_lsn_diff(case when not pg_is_in_recovery() then pg_current_wal_lsn() end, r.replay_lsn))::bigint
  from pg_catalog.pg_stat_replication r
  where r.state in ('catchup', 'streaming')
  group by r.application_name;
$$;

revoke all on function l9_monitor.longest_transaction_seconds(), l9_monitor.replication_lag() from public;
grant execute on function l9_monitor.longest_transaction_seconds(), l9_monitor.replication_lag() to l9_worker;

comment on schema l9_monitor is
  'Figures about the sessions of the server for GET /metrics. It belongs to a superuser, because only one sees those sessions.';
comment on function l9_monitor.longest_transaction_seconds() is
  'Age in seconds of the oldest open transaction of this database, of any login; 0 if there is none. Definer: l9_worker sees no sessions of others.';
comment on function l9_monitor.replication_lag() is
  'For each replica that streams from this server, by its application_name: how old what it replayed last is, and how many bytes of the write-ahead log it has yet to replay. Definer: l9_worker sees no sessions of others.';

-- A raw score of the word index tells how many rows hold a word, also rows that a policy hides. Only l9_searcher may compute one.
do $$
declare
  routine regprocedure;
begin
  for routine in
    select p.oid::regprocedure
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace
      and p.proname in ('to_bm25query', 'bm25_get_current_score', 'bm25_text_text_score', 'bm25_text_bm25query_score',
        'bm25_textarray_text_score', 'bm25_textarray_bm25query_score')
  loop
    execute pg_catalog.format('revoke execute on function %s from public', routine);
    execute pg_catalog.format('grant execute on function %s to l9_searcher', routine);
  end loop;
end
$$;

revoke all on schema public from public;
alter schema public owner to l9_owner;

-- This schema keeps append-only tables append-only. It belongs to a superuser, so that l9_owner, which can alter every table
-- of its own, cannot alter this. Only a superuser can bypass it: by disabling these event triggers, or by running such DDL.
create schema if not exists l9_guard;
revoke all on schema l9_guard from public;
grant usage on schema l9_guard to l9_owner;

create table if not exists l9_guard.append_only (
  table_name text primary key,
  parent text,
  noticed_at timestamptz not null default now()
);
revoke all on l9_guard.append_only from public;

-- bind_login() calls it: l9_owner owns no logins, and so may not set their settings itself.
create or replace function l9_guard.limit_login(login text)
returns void
language plpgsql
security definer
set search_path = ''
as $$
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = login and r.rolcanlogin and not r.rolsuper)
    or pg_catalog.pg_has_role(login, 'l9_owner', 'member') or pg_catalog.pg_has_role(login, 'l9_gateway', 'member') then
    raise exception using errcode = '42501', message = 'only logins of agents and admins are limited';
  end if;
  execute pg_catalog.format('alter role %I in database %I set statement_timeout = ''30s''', login, pg_catalog.current_database());
  execute pg_catalog.format('alter role %I in database %I set lock_timeout = ''5s''', login, pg_catalog.current_database());
  execute pg_catalog.format(
    'alter role %I in database %I set idle_in_transaction_session_timeout = ''60s''', login, pg_catalog.current_database());
end
$$;
comment on function l9_guard.limit_login(text) is
  'Sets how long statements, waits for locks and idle transactions of a login may take in this database. Definer: belongs to a superuser, because only one may set the settings of any role.';
revoke all on function l9_guard.limit_login(text) from public;
grant execute on function l9_guard.limit_login(text) to l9_owner;

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
      -- The trigger fires before update, delete and truncate (58), for each statement, always and without a condition.
      and exists (
        select from pg_catalog.pg_trigger t
        where t.tgrelid = c.oid and t.tgfoid = 'l9_guard.tg_append_only()'::pg_catalog.regprocedure
          and t.tgtype = 58 and t.tgenabled = 'A' and t.tgqual is null and t.tgattr::text = '')
      -- No rule and no trigger before insert may exist, because either could discard an inserted row.
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
      -- A trigger that writes audit rows can be dropped only together with its table.
      or d.object_type = 'trigger' and d.address_names[3] like '\_500\_audit%' and not exists (
        select from pg_event_trigger_dropped_objects() t
        where t.object_type = 'table' and t.address_names = d.address_names[1:2])
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
    raise exception using errcode = 'L9IMM', message = format('%s: only a superuser can change what protects the audit log', broken);
  end if;
  if tg_event <> 'ddl_command_end' then
    return;
  end if;

  -- A partition can be detached only once audit_archives lists it. That table is read only after the checks above found it intact.
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
          message = format('%s: only detach_audit_partition() or a superuser can detach it', watched.table_name);
      end if;
    end if;
    update l9_guard.append_only g set parent = watched.parent_now where g.table_name = watched.table_name;
  end loop;

  -- A table that has the trigger and passes the other checks is registered, and must stay append-only from then on.
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

comment on schema l9_guard is
  'Keeps append-only tables append-only, whoever owns them. It belongs to a superuser, so l9_owner cannot change its contents.';
comment on table l9_guard.append_only is 'Tables that were once found append-only, and must stay so.';
comment on column l9_guard.append_only.table_name is 'Schema and name of the table.';
comment on column l9_guard.append_only.parent is 'Partitioned table of which this table is a partition.';
comment on column l9_guard.append_only.noticed_at is 'When the table was first found append-only.';
comment on function l9_guard.tg_append_only() is 'Refuses every UPDATE, DELETE and TRUNCATE of its table.';
comment on function l9_guard.is_intact(oid) is
  'True if a table is append-only: row-level security is forced, its trigger is always on, and nothing can discard an inserted row. The same must hold for its partitions.';
comment on function l9_guard.tg_guard() is
  'Refuses DDL, except by a superuser, that would remove or weaken an append-only table or a trigger that writes audit rows. Definer: only the owner of l9_guard.append_only can read and write it.';

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
