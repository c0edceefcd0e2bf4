-- Row-level security of tables that are no memories: settings and lists of a tenant, and tables that no caller reads.
-- Chapters call these procedures after they created such a table.
create procedure identity.protect_tenant_rows(target regclass, readers text, writers text, has_built_in boolean default false)
language plpgsql set search_path = '' as $$
declare
  name constant text := (select c.relname from pg_class c where c.oid = target);
  policy record;
begin
  execute format('alter table %s enable row level security, force row level security', target);
  for policy in
    select * from (values
      ('tenant_isolation',
        'as restrictive to l9_agent, l9_admin' || case when has_built_in then '' else ', l9_platform_admin' end,
        case when has_built_in then 'tenant_id is null or ' else '' end || 'tenant_id = (select identity.current_tenant_id())',
        case when has_built_in then 'A caller sees the built-in rows and those of its own tenant.'
          else 'A caller sees the rows of its own tenant, and so does an operator.' end),
      ('scope_access', 'for select to l9_agent, l9_admin', 'true', readers),
      ('platform_override', 'for select to l9_platform_admin',
        format('(select identity.allow_and_audit_operator_read(%L))', name),
        format('Operators read the rows of %s tenant, and each read is audited.',
          case when has_built_in then 'every' else 'their own' end)),
      ('definer_functions', 'to l9_owner', 'true', writers)
    ) as p (name, addressed, condition, description)
  loop
    execute format('create policy %I on %s %s using (%s)', policy.name, target, policy.addressed, policy.condition);
    execute format('comment on policy %I on %s is %L', policy.name, target, policy.description);
  end loop;
end $$;
comment on procedure identity.protect_tenant_rows is 'Enables and forces row-level security on settings or a list of a tenant: '
  'each caller reads the rows of its tenant, and functions of the owner write them. readers, writers: sentences on why and by '
  'whom, for the comments of the policies. has_built_in: rows without a tenant belong to all, and operators read those of all '
  'tenants.';

create procedure identity.keep_private(target regclass, functions text default null, jobs text default null)
language plpgsql set search_path = '' as $$
begin
  execute format('alter table %s enable row level security, force row level security', target);
  if functions is not null then
    execute format('create policy definer_functions on %s to l9_owner using (true)', target);
    execute format('comment on policy definer_functions on %s is %L', target, functions);
  end if;
  if jobs is not null then
    execute format('create policy worker_access on %s to l9_worker using (true)', target);
    execute format('comment on policy worker_access on %s is %L', target, jobs);
  end if;
end $$;
comment on procedure identity.keep_private is 'Enables and forces row-level security on a table that no caller reads. functions, '
  'jobs: what functions of the owner, or background jobs, do with its rows; null if they may not touch it.';
