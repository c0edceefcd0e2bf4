-- Limits how often all callers of a tenant together can call. Operators call it in psql or GraphQL.
create function public.set_tenant_limits(
  reads_per_minute integer default null, writes_per_minute integer default null, tenant_id uuid default null)
returns public.tenants
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator;
  changed public.tenants;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(set_tenant_limits.tenant_id);
  perform administration.check_call_limit('reads_per_minute', set_tenant_limits.reads_per_minute);
  perform administration.check_call_limit('writes_per_minute', set_tenant_limits.writes_per_minute);
  update public.tenants t
  set reads_per_minute = coalesce(set_tenant_limits.reads_per_minute, t.reads_per_minute),
    writes_per_minute = coalesce(set_tenant_limits.writes_per_minute, t.writes_per_minute)
  where t.tenant_id = admin.target_tenant_id returning t.* into changed;
  return changed;
end $$;
comment on function public.set_tenant_limits is 'Changes how many reads and writes a minute the gateway admits from all callers '
  'of a tenant together (by default the caller''s own tenant); null leaves a limit unchanged. The limits of its actors are set '
  'by register_actor(). For operators, because tenants share a server. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: identity '
  'tables change through functions only.';
grant execute on function public.set_tenant_limits to l9_platform_admin;
