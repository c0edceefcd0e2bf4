-- Indexes a field of envelopes for a tenant, or drops the index. Admins call the public functions in psql or GraphQL.

create function fields.require_indexer() returns administration.administrator
language plpgsql stable set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(null);
begin
  if admin.is_operator then
    perform identity.raise_error('L9SCP',
      'only an admin of the tenant can index its fields, because that reads all of its memories');
  end if;
  perform administration.require_whole_token(admin);
  return admin;
end $$;
comment on function fields.require_indexer is 'Returns the administrator, if it is one of the tenant itself with an unlimited '
  'token; else raises L9SCP or L9AUT.';

-- A lock holds back saves of memories with fields until the values of those that exist are written.
create function public.register_field_index(field text) returns public.field_indexes
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin constant administration.administrator := fields.require_indexer();
  registered public.field_indexes;
begin
  if packets.field_path(register_field_index.field) is null then
    perform identity.raise_error('L9VAL', 'field: required, the name of a field of envelopes, such as status', 'field');
  end if;
  perform fields.lock_indexes(admin.target_tenant_id, is_exclusive => true);
  select i.* into registered from public.field_indexes i
  where i.tenant_id = admin.target_tenant_id and i.field = register_field_index.field;
  if found then
    return registered;
  elsif (select count(*) from public.field_indexes i where i.tenant_id = admin.target_tenant_id) >= fields.max_indexes() then
    perform identity.raise_error('L9LIM',
      format('field: a tenant has at most %s indexes; drop one first', fields.max_indexes()), 'field');
  end if;
  insert into public.field_indexes (tenant_id, field, created_by)
  values (admin.target_tenant_id, register_field_index.field, admin.caller) returning * into registered;
  insert into public.field_values (
    packet_id, field, text_value, number_value, time_value, has_more, tenant_id, org_id, user_id, project_id, scope, ttl)
  select p.packet_id, registered.field, v.text_value, v.number_value, v.time_value, v.has_more,
    p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
  from public.packet_store p
  cross join lateral fields.values_at(p.envelope, registered.field) v
  where p.tenant_id = registered.tenant_id and p.withheld_creator is null and p.envelope - 'content' <> '{}';
  perform audit.write_audit_of_tenant(registered.tenant_id, 'INSERT', 'field_indexes',
    details => jsonb_build_object('row', jsonb_build_object('field', registered.field)));
  return registered;
end $$;
comment on function public.register_field_index is 'Indexes a field of envelopes, such as status or owner.name, for the '
  'caller''s tenant: where then finds all memories with a value, however many there are. A second call changes nothing. Saves of '
  'memories with fields wait while the existing memories are read. For admins with an unlimited token; at most 20 fields. '
  'Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: callers can''t write field_values.';

create function public.drop_field_index(field text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin constant administration.administrator := fields.require_indexer();
begin
  perform fields.lock_indexes(admin.target_tenant_id, is_exclusive => true);
  delete from public.field_indexes i where i.tenant_id = admin.target_tenant_id and i.field = drop_field_index.field;
  if not found then
    return false;
  end if;
  delete from public.field_values v where v.tenant_id = admin.target_tenant_id and v.field = drop_field_index.field;
  perform audit.write_audit_of_tenant(admin.target_tenant_id, 'DELETE', 'field_indexes',
    details => jsonb_build_object('row', jsonb_build_object('field', drop_field_index.field)));
  return true;
end $$;
comment on function public.drop_field_index is 'Removes the index of a field, and returns whether there was one. The memories '
  'keep the field. For admins with an unlimited token. Audited. Errors: L9SCP, L9AUT. Definer: callers can''t write '
  'field_values.';
grant execute on function public.register_field_index, public.drop_field_index to l9_admin;
