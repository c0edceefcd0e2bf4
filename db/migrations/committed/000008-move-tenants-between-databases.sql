--! Previous: sha1:0a48b3dae13fe18c6c1e2f4f8e085fcb21b8d404
--! Hash: sha1:0a53fe875eea832fb64d560780fcd4153daa26aa
--! Message: move tenants between databases

--! split: 1-current.sql
-- The tenants that move between databases, which a database does not serve until they have arrived. `l9-memory tenant move`,
-- which a superuser runs, writes it. refresh_active_actors() copies the state to active_actors, where current_identity()
-- finds it.
create table identity.tenant_moves (
  tenant_id uuid primary key references public.tenants on delete cascade,
  state text not null,
  move_id uuid not null,
  arrival_id uuid,
  cell text,
  changed_at timestamptz not null default clock_timestamp(),
  constraint tenant_move_state_known check (state in ('stopped', 'arriving', 'arrived', 'moved'))
);
call identity.describe('identity.tenant_moves', 'Tenants that move to another database, or came from one. A tenant without a row
    is served, and so is one that has arrived.
  state: stopped: its rows are being copied from here for the last time. arriving: they are here, but the other database still
    owns the tenant. arrived: this database owns it. moved: the other database owns it.
  move_id: The last move, by which both databases know that they speak of the same one.
  arrival_id: The move that brought the tenant here; null if it was created or imported here.
  cell: Name of the database that it moved to, as the directory of the proxy has it, if one was given.
  changed_at: When the state was reached.');

create trigger _600_active_actors after insert or update or delete on identity.tenant_moves
  for each row execute function identity.tg__refresh_active_actors();

alter table identity.tenant_moves enable row level security, force row level security;

create policy tenant_isolation on identity.tenant_moves as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.tenant_moves for select to l9_agent, l9_admin using (true);
create policy definer_functions on identity.tenant_moves for select to l9_owner using (true);
comment on policy tenant_isolation on identity.tenant_moves is 'The same rule as on tenants. Callers have no grant on this '
  'table.';
comment on policy scope_access on identity.tenant_moves is 'The same rule as on tenants. Callers have no grant on this table.';
comment on policy definer_functions on identity.tenant_moves is 'refresh_active_actors() and tg__refuse_moving() read it.';
-- No role has a grant: only a superuser moves a tenant.

create function identity.refuse_moving(state text) returns boolean
language plpgsql stable parallel safe set search_path = '' as $$
begin
  perform identity.raise_error('L9BSY', case state
    when 'moved' then 'this tenant has moved to another database: connect to its address again'
    else 'this tenant is being moved to another database: try again in a few seconds' end, '');
  return false;
end $$;
comment on function identity.refuse_moving is 'Raises L9BSY for a caller of a tenant in this state of a move.';

alter table identity.active_actors add column move_state text;
comment on table identity.active_actors is 'Cache of the active actors with the scopes that they can use now. Triggers of '
  'actors, scopes, tenants and tenant_moves recompute it in the same transaction; nothing else writes it. move_state: that of '
  'tenant_moves; null: the tenant is served.';

-- Recomputes the cache identity.active_actors. Triggers of tenants, scopes, actors and tenant_moves do so in the transaction
-- that changes them.
create or replace function identity.refresh_active_actors(tenant_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
  -- The lock serialises changes of one tenant, so that the second transaction sees the changes of the first: each statement
  -- after this one takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('identity.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from identity.active_actors cached where cached.tenant_id = refresh_active_actors.tenant_id;
  insert into identity.active_actors
    (tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes, registered_by,
    move_state)
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}'),
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}'),
    a.registered_by, m.state
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  left join identity.tenant_moves m on m.tenant_id = a.tenant_id and m.state <> 'arrived'
  left join public.scopes s on s.tenant_id = a.tenant_id and s.is_active
  where a.tenant_id = refresh_active_actors.tenant_id and a.is_active
    and (a.registered_by is null or exists (
      select from public.actors p where p.tenant_id = a.tenant_id and p.caller = a.registered_by and p.is_active))
  group by a.tenant_id, a.caller, m.state;
end $$;
comment on function identity.refresh_active_actors is 'Recomputes the rows of a tenant in active_actors.';

create or replace function identity.tg__refresh_active_actors() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'TRUNCATE' then
    -- Truncating one of these tables also truncates the tables that reference it, so no active actor remains.
    delete from identity.active_actors;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform identity.refresh_active_actors(old.tenant_id);
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.tenant_id <> old.tenant_id then
    perform identity.refresh_active_actors(new.tenant_id);
  end if;
  return null;
end $$;
comment on function identity.tg__refresh_active_actors is 'Keeps active_actors equal to what actors, scopes, tenants and '
  'tenant_moves say. Definer: the roles that change these tables cannot write active_actors.';

-- Every policy and row trigger calls this function, so it must be fast: plpgsql caches its plan for the session, missing
-- claims are not parsed, and the common path calls no other function (each call costs about 20 µs).
create or replace function identity.current_identity() returns identity.identity
language plpgsql stable parallel safe security definer set search_path = ''
-- These force the primary-key lookup: on tiny tables the planner prefers a sequential scan over all tenants.
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  me identity.identity;
  tenant_claim text := nullif(current_setting('jwt.claims.tenant_id', true), '');
  org_claim text := nullif(current_setting('jwt.claims.org_id', true), '');
  user_claim text := nullif(current_setting('jwt.claims.user_id', true), '');
  key_claim text := nullif(current_setting('jwt.claims.key_id', true), '');
  caller_claim text := nullif(current_setting('jwt.claims.caller', true), '');
  via_claim text := nullif(current_setting('jwt.claims.via', true), '');
  scopes_claim text := nullif(current_setting('jwt.claims.scopes', true), '');
  projects_claim text := nullif(current_setting('jwt.claims.projects', true), '');
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  bound_actor record;
begin
  -- Anyone with a database session can set claims, and only the gateway verifies them. Any other login is the actor it is
  -- bound to or has no identity; its claims can only reduce its scopes and projects.
  if session_user <> 'l9_gateway' and not pg_has_role(session_user, 'l9_gateway', 'member') then
    select a.tenant_id, a.caller into bound_actor from public.actors a where a.login = session_user;
    if not found or tenant_claim <> bound_actor.tenant_id::text or caller_claim <> bound_actor.caller
      or org_claim is not null or user_claim is not null or key_claim is not null then
      return null;
    end if;
    tenant_claim := bound_actor.tenant_id;
    caller_claim := bound_actor.caller;
    if role_name = session_user then
      -- The session has not taken one of our roles but inherits one. With more than one, its role is ambiguous.
      role_name := (
        select case count(*) when 1 then min(r.name) end
        from unnest(identity.caller_roles()) as r (name)
        where pg_has_role(session_user, r.name, 'usage'));
    end if;
  end if;

  -- A malformed claim yields no identity. If it were ignored, the caller would write to a wider audience than it asked for.
  if caller_claim is null or tenant_claim is null or not pg_input_is_valid(tenant_claim, 'uuid')
    or not pg_input_is_valid(org_claim, 'uuid') or not pg_input_is_valid(user_claim, 'uuid')
    or not pg_input_is_valid(key_claim, 'uuid') then
    return null;
  end if;
  me.projects := case when projects_claim is null then '{*}' else identity.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    a.readable_scopes, a.writable_scopes, me.projects,
    case when a.move_state is null then a.can_clean_up else identity.refuse_moving(a.move_state) end
  into me
  from identity.active_actors a
  where a.tenant_id = tenant_claim::uuid and a.caller = caller_claim and a.role = role_name
    -- The key is that of another caller, which may speak only for clients that are known by their name alone.
    and (via_claim is null or a.registered_by = via_claim);

  if scopes_claim is not null then
    me.readable_scopes := identity.intersect_scopes(me.readable_scopes, identity.list_claim('scopes'));
    me.writable_scopes := identity.intersect_scopes(me.writable_scopes, identity.list_claim('scopes'));
  end if;
  if (org_claim is not null or user_claim is not null or key_claim is not null)
    and not identity.are_claims_valid(
      me.tenant_id, coalesce(via_claim, me.caller), me.org_id, me.user_id, key_claim::uuid) then
    return null;
  end if;
  return me;
end $$;
comment on function identity.current_identity is 'The caller of this transaction, computed from its login, claims, role and '
  'actor''s row; null if these do not match. Raises L9BSY while its tenant moves to another database. '
  'Definer: reads identity tables, which callers see only in part.';

-- Operators administer tenants other than their own, so they are refused by triggers while a tenant moves.
create function identity.tg__refuse_moving() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  state text;
begin
  select m.state into state from identity.tenant_moves m
  where m.tenant_id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end and m.state <> 'arrived';
  if found then
    perform identity.refuse_moving(state);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
comment on function identity.tg__refuse_moving is 'Raises L9BSY for a change of a tenant that moves or has moved. Definer: the '
  'roles that change these tables cannot read tenant_moves.';

do $$
declare
  target text;
begin
  foreach target in array array['tenants', 'orgs', 'users', 'scopes', 'actors', 'api_keys'] loop
    execute format('create trigger _200_refuse_moving before insert or update or delete on public.%I
      for each row execute function identity.tg__refuse_moving()', target);
  end loop;
end $$;

-- Each step of a move is audited in the database where it happens, and the gateways reload whom they serve.
create trigger _500_audit after insert or update on identity.tenant_moves
  for each row execute function administration.tg__audit_identity('', 'state', 'move_id', 'cell');
create trigger _900_notify after insert or update or delete on identity.tenant_moves
  for each statement execute function administration.tg__notify('l9_identity');

-- The step of an erasure that deletes the texts of searches. erase_marked() calls it before the memories go, because
-- it compares texts with theirs.
create or replace function forgetting.erase_query_texts(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  deleted_count integer;
begin
  with marked as (
    select t.packet_id, t.tenant_id from public.memory_tombstones t where t.erasure_id = erase_query_texts.erasure_id
  ), erased_texts as (
    select m.tenant_id, p.content_hash from marked m join public.packet_store p on p.packet_id = m.packet_id
    union
    select m.tenant_id, packets.content_hash(v.content) from marked m join public.packet_versions v on v.packet_id = m.packet_id
  ), matching_searches as (
    select a.audit_id
    from public.audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q)
    union
    -- The searches of a tenant that moved here are in the log that it brought.
    select a.audit_id
    from transfer.imported_audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q where q.tenant_id = a.tenant_id)
  )
  delete from public.audit_query_texts q
  where q.audit_id in (select s.audit_id from matching_searches s)
    -- A search for exactly the erased text may have found other memories, or none.
    or (q.tenant_id, packets.content_hash(q.query)) in (select t.tenant_id, t.content_hash from erased_texts t)
    or q.tenant_id = erase_query_texts.tenant_id and q.user_id = erase_query_texts.user_id;
  get diagnostics deleted_count = row_count;
  return jsonb_build_object('query_texts', deleted_count);
end $$;
comment on function forgetting.erase_query_texts is 'Deletes the texts of searches that found an erased memory, or whose text '
  'equals its content or that of one of its versions; for a subject, the texts of all searches of that user. The audit rows '
  'stay.';

-- What `l9-memory tenant export` and `tenant move`, which superusers run, carry of the audit log: the rows of the tenant with the
-- hashes that were sealed, and what each seal says of them, for the tables of imported logs.
create function transfer.sealed_rows(tenant_id uuid, after_seal bigint) returns setof transfer.imported_audit_log
language sql stable set search_path = ''
begin atomic
  select a.tenant_id, f.seal_hash, s.seal_id, a.audit_id, a.occurred_at, a.xid, a.operation, a.table_name, a.row_id, a.project_id,
    a.scope, a.status, a.sqlstate, a.details, r.row_hash, now()
  from public.audit_seals s
  join public.audit_seals f on f.seal_id = 1
  cross join lateral rows from (unnest(s.audit_ids), unnest(s.row_hashes)) as r (audit_id, row_hash)
  join public.audit_log a on a.audit_id = r.audit_id and a.occurred_at between s.first_occurred_at and s.last_occurred_at
  where s.seal_id > sealed_rows.after_seal and a.tenant_id = sealed_rows.tenant_id;
end;
comment on function transfer.sealed_rows is 'The rows of a tenant under the seals after this one, as a log of another database.';

create function transfer.sealed_parts(tenant_id uuid, after_seal bigint, previous_hash bytea)
returns setof transfer.imported_audit_seals
language plpgsql stable set search_path = '' as $$
declare
  part transfer.imported_audit_seals;
  previous bytea := sealed_parts.previous_hash;
begin
  for part in
    select sealed_parts.tenant_id, f.seal_hash, s.seal_id, s.sealed_at, s.seal_hash, count(r.audit_id),
      audit.audit_rows_hash(array_agg(r.audit_id order by r.xid, r.audit_id) filter (where r.audit_id is not null),
        array_agg(r.row_hash order by r.xid, r.audit_id) filter (where r.audit_id is not null)), null, null, now()
    from public.audit_seals s
    join public.audit_seals f on f.seal_id = 1
    left join transfer.sealed_rows(sealed_parts.tenant_id, sealed_parts.after_seal) r on r.seal_id = s.seal_id
    where s.seal_id > sealed_parts.after_seal
    group by f.seal_hash, s.seal_id
    order by s.seal_id
  loop
    part.previous_hash := previous;
    part.hash := transfer.sealed_part_hash(part);
    previous := part.hash;
    return next part;
  end loop;
end $$;
comment on function transfer.sealed_parts is 'What the seals after this one say of the rows of a tenant. previous_hash: the hash '
  'of the line of that seal; null if it is seal 0.';

create function transfer.carried_audit_problem(tenant_id uuid) returns text language sql stable set search_path = ''
begin atomic
  with under_seal as (
    select a.chain, a.seal_id, count(*) as row_count, audit.audit_rows_hash(
        array_agg(a.audit_id order by a.xid, a.audit_id), array_agg(a.row_hash order by a.xid, a.audit_id)) as rows_hash
    from transfer.imported_audit_log a where a.tenant_id = carried_audit_problem.tenant_id
    group by a.chain, a.seal_id
  ), seals as (
    select s as part, s.chain, s.seal_id, lag(s.seal_id) over chained as former_id, lag(s.hash) over chained as former_hash
    from transfer.imported_audit_seals s where s.tenant_id = carried_audit_problem.tenant_id
    window chained as (partition by s.chain order by s.seal_id)
  ), problems as (
    select format('row %s is not the row that was sealed', a.audit_id) as problem
    from transfer.imported_audit_log a
    where a.tenant_id = carried_audit_problem.tenant_id
      and audit.audit_row_hash(jsonb_populate_record(null::public.audit_log, to_jsonb(a))) <> a.row_hash
    union all
    select format('seal %s was altered', s.seal_id) from seals s where (s.part).hash <> transfer.sealed_part_hash(s.part)
    union all
    select format('seal %s does not match the one before it', s.seal_id) from seals s
    where s.seal_id <> coalesce(s.former_id, 0) + 1 or (s.part).previous_hash is distinct from s.former_hash
      or s.seal_id = 1 and s.chain <> (s.part).seal_hash
    union all
    select format('the rows under seal %s are not those that were sealed', coalesce(s.seal_id, u.seal_id))
    from seals s full join under_seal u on u.chain = s.chain and u.seal_id = s.seal_id
    where (coalesce(u.row_count, 0), coalesce(u.rows_hash, audit.audit_rows_hash(null, null)))
      is distinct from ((s.part).row_count::bigint, (s.part).rows_hash)
  )
  select p.problem from problems p limit 1;
end;
comment on function transfer.carried_audit_problem is 'The first thing that is wrong with the audit logs that a tenant brought '
  'from other databases; null if each row has the hash that was sealed, and each seal follows the one before it. For superusers.';
-- No grant on these functions: they read the seals of every tenant.
