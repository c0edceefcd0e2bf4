-- Tells whether the org, user and API key in the claims of a caller are valid. current_identity(), create_api_key()
-- and explain_access() call it.
create function identity.are_claims_valid(tenant_id uuid, caller text, org_id uuid, user_id uuid, key_id uuid) returns boolean
language sql stable parallel safe security definer set search_path = ''
return
  (org_id is null or not exists (
    select from public.orgs o
    where o.tenant_id = are_claims_valid.tenant_id and o.org_id = are_claims_valid.org_id and not o.is_active))
  and (user_id is null or not exists (
    select from public.users u
    where u.tenant_id = are_claims_valid.tenant_id and u.user_id = are_claims_valid.user_id
      and not (u.is_active and (u.org_id is null or u.org_id is not distinct from are_claims_valid.org_id))))
  and (key_id is null or exists (
    select from public.api_keys k
    where k.key_id = are_claims_valid.key_id and k.tenant_id = are_claims_valid.tenant_id and k.caller = are_claims_valid.caller
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())
      and (k.tool_sets is null or nullif(pg_catalog.current_setting('l9.tool_set', true), '') = any (k.tool_sets))));
comment on function identity.are_claims_valid is 'True if the org and user (if registered) are active and match, and the API key '
  'is the caller''s, valid, and for the set of the tool that is called (l9.tool_set). Definer: reads identity tables.';
