-- Who sees the settings and lists of a tenant, which belong to it as a whole: their tables call protect_tenant_rows().

create procedure identity.protect_tenant_rows(
  target regclass, noun text, readers text, definers text, has_built_in boolean default false,
  operators_see_all boolean default false)
language plpgsql set search_path = '' as $$
declare
  sees_all constant boolean := operators_see_all or has_built_in;
  name constant text := (select c.relname from pg_class c where c.oid = target);
  policy record;
begin
  execute format('alter table %s enable row level security, force row level security', target);
  for policy in
    select * from (values
      ('tenant_isolation', 'as restrictive to l9_agent, l9_admin' || case when sees_all then '' else ', l9_platform_admin' end,
        case when has_built_in then 'tenant_id is null or ' else '' end || 'tenant_id = (select identity.current_tenant_id())',
        format('A caller sees the %s of its own tenant%s.', noun, case when has_built_in then ' and the built-in ones' end)),
      ('scope_access', 'for select to l9_agent, l9_admin', 'true', readers),
      ('platform_override', 'for select to l9_platform_admin',
        format('(select identity.allow_and_audit_operator_read(%L))', name),
        format('Operators read the %s of %s; each read is audited.', noun,
          case when sees_all then 'every tenant' else 'their own tenant' end)),
      ('definer_functions', 'to l9_owner', 'true', definers)
    ) as p (name, addressed, condition, description)
  loop
    execute format('create policy %I on %s %s using (%s)', policy.name, target, policy.addressed, policy.condition);
    execute format('comment on policy %I on %s is %L', policy.name, target, policy.description);
  end loop;
  execute format('grant select on %s to l9_agent, l9_admin, l9_platform_admin', target);
end $$;
comment on procedure identity.protect_tenant_rows is
  'Enables and forces row-level security on a table with the column tenant_id, whose rows every caller of the tenant may read, '
  'creates its policies and grants select. has_built_in: rows without a tenant are everyone''s. operators_see_all: operators '
  'read the rows of every tenant (has_built_in includes that), else of their own. noun: what the rows are; readers, definers: '
  'the comments on scope_access and definer_functions. Used by migrations only.';
