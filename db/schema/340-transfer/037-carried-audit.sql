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
