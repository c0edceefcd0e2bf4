--! Previous: sha1:a5028aa5c1465a6e41ddb39cd9bce766d2a65f06
--! Hash: sha1:b96b3a276b5037a4a3b0f909ef52258448ccbd40
--! Message: move tenants between databases

--! split: 1-current.sql
-- table identity.tenant_moves is new
create table identity.tenant_moves (
  tenant_id uuid primary key references public.tenants on delete cascade,
  state text not null,
  move_id uuid not null,
  arrival_id uuid,
  cell text,
  changed_at timestamptz not null default clock_timestamp(),
  constraint tenant_move_state_known check (state in ('stopped', 'arriving', 'arrived', 'moved'))
);

-- settings of table identity.tenant_moves is new
alter table identity.tenant_moves enable row level security,  force row level security, replica identity default;

-- grants on table identity.tenant_moves to l9_owner is new
revoke all on table identity.tenant_moves from l9_owner;
grant DELETE, INSERT, MAINTAIN, REFERENCES, SELECT, TRIGGER, TRUNCATE, UPDATE on table identity.tenant_moves to l9_owner;

-- owner of table identity.tenant_moves is new
alter table identity.tenant_moves owner to l9_owner;

-- column identity.active_actors.move_state is new
alter table identity.active_actors add column if not exists move_state text;

-- function forgetting.erase_query_texts(uuid,uuid,uuid) is another
CREATE OR REPLACE FUNCTION forgetting.erase_query_texts(erasure_id uuid, tenant_id uuid DEFAULT NULL::uuid, user_id uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$
;

-- function identity.current_identity() is another
CREATE OR REPLACE FUNCTION identity.current_identity()
 RETURNS identity.identity
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
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
end $function$
;

-- function identity.refresh_active_actors(uuid) is another
CREATE OR REPLACE FUNCTION identity.refresh_active_actors(tenant_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$
;

-- function identity.refuse_moving(text) is new
CREATE OR REPLACE FUNCTION identity.refuse_moving(state text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  perform identity.raise_error('L9BSY', case state
    when 'moved' then 'this tenant has moved to another database: connect to its address again'
    else 'this tenant is being moved to another database: try again in a few seconds' end, '');
  return false;
end $function$
;

-- function identity.tg__refuse_moving() is new
CREATE OR REPLACE FUNCTION identity.tg__refuse_moving()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  state text;
begin
  select m.state into state from identity.tenant_moves m
  where m.tenant_id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end and m.state <> 'arrived';
  if found then
    perform identity.refuse_moving(state);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $function$
;

-- function transfer.carried_audit_problem(uuid) is new
CREATE OR REPLACE FUNCTION transfer.carried_audit_problem(tenant_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 WITH under_seal AS (
          SELECT a.chain,
             a.seal_id,
             count(*) AS row_count,
             audit.audit_rows_hash(array_agg(a.audit_id ORDER BY a.xid, a.audit_id), array_agg(a.row_hash ORDER BY a.xid, a.audit_id)) AS rows_hash
            FROM transfer.imported_audit_log a
           WHERE (a.tenant_id = carried_audit_problem.tenant_id)
           GROUP BY a.chain, a.seal_id
         ), seals AS (
          SELECT s.*::transfer.imported_audit_seals AS part,
             s.chain,
             s.seal_id,
             lag(s.seal_id) OVER chained AS former_id,
             lag(s.hash) OVER chained AS former_hash
            FROM transfer.imported_audit_seals s
           WHERE (s.tenant_id = carried_audit_problem.tenant_id)
           WINDOW chained AS (PARTITION BY s.chain ORDER BY s.seal_id)
         ), problems AS (
          SELECT format('row %s is not the row that was sealed'::text, a.audit_id) AS problem
            FROM transfer.imported_audit_log a
           WHERE ((a.tenant_id = carried_audit_problem.tenant_id) AND (audit.audit_row_hash(jsonb_populate_record(NULL::public.audit_log, to_jsonb(a.*))) <> a.row_hash))
         UNION ALL
          SELECT format('seal %s was altered'::text, s.seal_id) AS format
            FROM seals s
           WHERE ((s.part).hash <> transfer.sealed_part_hash(s.part))
         UNION ALL
          SELECT format('seal %s does not match the one before it'::text, s.seal_id) AS format
            FROM seals s
           WHERE ((s.seal_id <> (COALESCE(s.former_id, (0)::bigint) + 1)) OR ((s.part).previous_hash IS DISTINCT FROM s.former_hash) OR ((s.seal_id = 1) AND (s.chain <> (s.part).seal_hash)))
         UNION ALL
          SELECT format('the rows under seal %s are not those that were sealed'::text, COALESCE(s.seal_id, u.seal_id)) AS format
            FROM (seals s
              FULL JOIN under_seal u ON (((u.chain = s.chain) AND (u.seal_id = s.seal_id))))
           WHERE ((COALESCE(u.row_count, (0)::bigint) IS DISTINCT FROM ((s.part).row_count)::bigint) OR (COALESCE(u.rows_hash, audit.audit_rows_hash(NULL::uuid[], NULL::bytea[])) IS DISTINCT FROM (s.part).rows_hash))
         )
  SELECT p.problem
    FROM problems p
  LIMIT 1;
END
;

-- function transfer.sealed_parts(uuid,bigint,bytea) is new
CREATE OR REPLACE FUNCTION transfer.sealed_parts(tenant_id uuid, after_seal bigint, previous_hash bytea)
 RETURNS SETOF transfer.imported_audit_seals
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$
;

-- function transfer.sealed_rows(uuid,bigint) is new
CREATE OR REPLACE FUNCTION transfer.sealed_rows(tenant_id uuid, after_seal bigint)
 RETURNS SETOF transfer.imported_audit_log
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT a.tenant_id,
     f.seal_hash,
     s.seal_id,
     a.audit_id,
     a.occurred_at,
     a.xid,
     a.operation,
     a.table_name,
     a.row_id,
     a.project_id,
     a.scope,
     a.status,
     a.sqlstate,
     a.details,
     r.row_hash,
     now() AS now
    FROM (((public.audit_seals s
      JOIN public.audit_seals f ON ((f.seal_id = 1)))
      CROSS JOIN LATERAL UNNEST(s.audit_ids, s.row_hashes) r(audit_id, row_hash))
      JOIN public.audit_log a ON (((a.audit_id = r.audit_id) AND ((a.occurred_at >= s.first_occurred_at) AND (a.occurred_at <= s.last_occurred_at)))))
   WHERE ((s.seal_id > sealed_rows.after_seal) AND (a.tenant_id = sealed_rows.tenant_id));
END
;

-- policy definer_functions on identity.tenant_moves is new
drop policy if exists definer_functions on identity.tenant_moves;
create policy definer_functions on identity.tenant_moves for select to l9_owner using (true);

-- trigger _200_refuse_moving on public.actors is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.actors FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _200_refuse_moving on public.api_keys is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.api_keys FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _200_refuse_moving on public.orgs is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.orgs FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _200_refuse_moving on public.scopes is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.scopes FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _200_refuse_moving on public.tenants is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.tenants FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _200_refuse_moving on public.users is new
create or replace trigger _200_refuse_moving BEFORE INSERT OR DELETE OR UPDATE ON public.users FOR EACH ROW EXECUTE FUNCTION identity.tg__refuse_moving();

-- trigger _500_audit on identity.tenant_moves is new
create or replace trigger _500_audit AFTER INSERT OR UPDATE ON identity.tenant_moves FOR EACH ROW EXECUTE FUNCTION administration.tg__audit_identity('', 'state', 'move_id', 'cell');

-- trigger _600_active_actors on identity.tenant_moves is new
create or replace trigger _600_active_actors AFTER INSERT OR DELETE OR UPDATE ON identity.tenant_moves FOR EACH ROW EXECUTE FUNCTION identity.tg__refresh_active_actors();

-- trigger _900_notify on identity.tenant_moves is new
create or replace trigger _900_notify AFTER INSERT OR DELETE OR UPDATE ON identity.tenant_moves FOR EACH STATEMENT EXECUTE FUNCTION administration.tg__notify('l9_identity');

-- grants on routine identity.refuse_moving(text) to l9_owner is new
revoke all on routine identity.refuse_moving(text) from l9_owner;
grant EXECUTE on routine identity.refuse_moving(text) to l9_owner;

-- grants on routine identity.tg__refuse_moving() to l9_owner is new
revoke all on routine identity.tg__refuse_moving() from l9_owner;
grant EXECUTE on routine identity.tg__refuse_moving() to l9_owner;

-- grants on routine transfer.carried_audit_problem(uuid) to l9_owner is new
revoke all on routine transfer.carried_audit_problem(uuid) from l9_owner;
grant EXECUTE on routine transfer.carried_audit_problem(uuid) to l9_owner;

-- grants on routine transfer.sealed_parts(uuid,bigint,bytea) to l9_owner is new
revoke all on routine transfer.sealed_parts(uuid,bigint,bytea) from l9_owner;
grant EXECUTE on routine transfer.sealed_parts(uuid,bigint,bytea) to l9_owner;

-- grants on routine transfer.sealed_rows(uuid,bigint) to l9_owner is new
revoke all on routine transfer.sealed_rows(uuid,bigint) from l9_owner;
grant EXECUTE on routine transfer.sealed_rows(uuid,bigint) to l9_owner;

-- owner of routine identity.refuse_moving(text) is new
alter routine identity.refuse_moving(text) owner to l9_owner;

-- owner of routine identity.tg__refuse_moving() is new
alter routine identity.tg__refuse_moving() owner to l9_owner;

-- owner of routine transfer.carried_audit_problem(uuid) is new
alter routine transfer.carried_audit_problem(uuid) owner to l9_owner;

-- owner of routine transfer.sealed_parts(uuid,bigint,bytea) is new
alter routine transfer.sealed_parts(uuid,bigint,bytea) owner to l9_owner;

-- owner of routine transfer.sealed_rows(uuid,bigint) is new
alter routine transfer.sealed_rows(uuid,bigint) owner to l9_owner;

-- comment on function identity.current_identity() is another
comment on function identity.current_identity() is 'The caller of this transaction, computed from its login, claims, role and actor''s row; null if these do not match. Raises L9BSY while its tenant moves to another database. Definer: reads identity tables, which callers see only in part.';

-- comment on function identity.refuse_moving(pg_catalog.text) is new
comment on function identity.refuse_moving(pg_catalog.text) is 'Raises L9BSY for a caller of a tenant in this state of a move.';

-- comment on function identity.tg__refresh_active_actors() is another
comment on function identity.tg__refresh_active_actors() is 'Keeps active_actors equal to what actors, scopes, tenants and tenant_moves say. Definer: the roles that change these tables cannot write active_actors.';

-- comment on function identity.tg__refuse_moving() is new
comment on function identity.tg__refuse_moving() is 'Raises L9BSY for a change of a tenant that moves or has moved. Definer: the roles that change these tables cannot read tenant_moves.';

-- comment on function transfer.carried_audit_problem(pg_catalog.uuid) is new
comment on function transfer.carried_audit_problem(pg_catalog.uuid) is 'The first thing that is wrong with the audit logs that a tenant brought from other databases; null if each row has the hash that was sealed, and each seal follows the one before it. For superusers.';

-- comment on function transfer.sealed_parts(pg_catalog.uuid,bigint,pg_catalog.bytea) is new
comment on function transfer.sealed_parts(pg_catalog.uuid,bigint,pg_catalog.bytea) is 'What the seals after this one say of the rows of a tenant. previous_hash: the hash of the line of that seal; null if it is seal 0.';

-- comment on function transfer.sealed_rows(pg_catalog.uuid,bigint) is new
comment on function transfer.sealed_rows(pg_catalog.uuid,bigint) is 'The rows of a tenant under the seals after this one, as a log of another database.';

-- comment on policy definer_functions on identity.tenant_moves is new
comment on policy definer_functions on identity.tenant_moves is 'refresh_active_actors() and tg__refuse_moving() read it.';

-- comment on table identity.active_actors is another
comment on table identity.active_actors is 'Cache of the active actors with the scopes that they can use now. Triggers of actors, scopes, tenants and tenant_moves recompute it in the same transaction; nothing else writes it. move_state: that of tenant_moves; null: the tenant is served.';

-- comments on identity.tenant_moves are new
call identity.describe('identity.tenant_moves', 'Tenants that move to another database, or came from one. A tenant without a row
    is served, and so is one that has arrived.
  state: stopped: its rows are being copied from here for the last time. arriving: they are here, but the other database still
    owns the tenant. arrived: this database owns it. moved: the other database owns it.
  move_id: The last move, by which both databases know that they speak of the same one.
  arrival_id: The move that brought the tenant here; null if it was created or imported here.
  cell: Name of the database that it moved to, as the directory of the proxy has it, if one was given.
  changed_at: When the state was reached.');
