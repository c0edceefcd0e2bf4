-- Sets whether a tenant keeps the texts of its searches. Admins call it in psql or GraphQL.
create function public.set_query_text_audit(enabled boolean, tenant_id uuid default null) returns public.tenants
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_query_text_audit.tenant_id);
  changed public.tenants;
begin
  if enabled is null then
    perform identity.raise_error('L9VAL', 'enabled: must be true or false');
  end if;
  update public.tenants t set audits_query_text = enabled where t.tenant_id = admin.target_tenant_id returning * into changed;
  return changed;
end $$;
comment on function public.set_query_text_audit is 'Sets whether the texts of searches are kept for the tenant (by default the '
  'caller''s own), for its admins to read. Texts that are already stored are kept. For admins with an unlimited token. Audited. '
  'Definer: identity tables change through functions only.';
grant execute on function public.set_query_text_audit to l9_admin, l9_platform_admin;
