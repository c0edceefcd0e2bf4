-- Switches orgs, users and scopes of a tenant off and on: their functions deactivate_…() and reactivate_…() call set_active().
create function administration.set_active(changed anyelement, key text, value text, tenant_id uuid, is_active boolean)
returns anyelement
language plpgsql volatile set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_active.tenant_id);
begin
  -- Of the keys, an administrator has org_id and user_id itself.
  if admin.own_tenant_id = admin.target_tenant_id and value = to_jsonb(admin) ->> key then
    perform identity.raise_error('L9SCP',
      format('%s: your token acts for this %s; you would lock yourself out', key, replace(key, '_id', '')));
  end if;
  execute format('update %s t set is_active = $1 where t.tenant_id = $2 and t.%I = %L returning t.*', pg_typeof(changed), key,
    value)
  into changed using is_active, admin.target_tenant_id;
  if changed is null then
    perform administration.raise_not_found(key);
  end if;
  return changed;
end $$;
comment on function administration.set_active is 'Switches a row of the type of `changed`, by the value of its key, off or on. '
  'Raises L9OWN, or L9SCP for an administrator''s own org or user.';
