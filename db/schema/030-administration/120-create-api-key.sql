-- Creates API keys of actors. Admins call create_api_key() in psql or GraphQL; revoke_api_key() shares the check of
-- what they may grant.
create type public.new_api_key as (api_key text, key_id uuid, name text, caller text, expires_at timestamptz);
call identity.describe('public.new_api_key', 'An API key that was just created.
  api_key: The key. It is returned only once, here.
  key_id: Id, the argument of revoke_api_key().
  name: Purpose of the key, for people.
  caller: Actor that the key stands for.
  expires_at: The key is refused from this time on. Null: it does not expire.');

create function administration.check_key_grantable(
  admin administration.administrator, actor public.actors, scopes text[], projects text[]) returns void
language sql stable set search_path = ''
return administration.check_grantable(
  admin, (actor).role,
  case
    when scopes is null then (actor).readable_scopes
    when '*' = any ((actor).readable_scopes) then scopes
    else array(select s.scope from unnest(scopes) as s (scope) where s.scope = any ((actor).readable_scopes))
  end,
  case
    when scopes is null then (actor).writable_scopes
    when '*' = any ((actor).writable_scopes) then scopes
    else array(select s.scope from unnest(scopes) as s (scope) where s.scope = any ((actor).writable_scopes))
  end,
  coalesce(projects, '{*}'), (actor).can_clean_up);
comment on function administration.check_key_grantable is 'Raises L9SCP unless the administrator could do all that this key can.';

-- Checks the actor, what the administrator may grant, and then each limit of the key. The key itself is never stored.
create function public.create_api_key(
  name text, caller text, scopes text[] default null, projects text[] default null, org_id uuid default null,
  user_id uuid default null, expires_at timestamptz default null, tenant_id uuid default null, default_project text default null,
  tool_sets text[] default null) returns public.new_api_key
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(create_api_key.tenant_id);
  actor public.actors;
  key_scopes text[] := case when '*' = any (create_api_key.scopes) then null else create_api_key.scopes end;
  key_projects text[] := case when '*' = any (create_api_key.projects) then null else create_api_key.projects end;
  created public.new_api_key;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = create_api_key.caller and a.is_active;
  if not found then
    perform identity.raise_error('L9VAL', 'caller: no active actor of this tenant');
  end if;
  perform administration.check_key_grantable(admin, actor, key_scopes, key_projects);
  key_scopes := administration.check_scope_list(admin.target_tenant_id, 'scopes', key_scopes);

  if identity.is_display_name(create_api_key.name, 100) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 100 characters, with no leading or trailing white space');
  elsif cardinality(create_api_key.scopes) = 0 then
    perform identity.raise_error('L9VAL', 'scopes: must name at least one, or be omitted');
  elsif cardinality(create_api_key.projects) = 0 then
    perform identity.raise_error('L9VAL', 'projects: must name at least one, or be omitted');
  elsif cardinality(key_projects) > 1000 then
    perform identity.raise_error('L9LIM', 'projects: at most 1000');
  elsif exists (select from unnest(key_projects) as p (id) where identity.is_project_id(p.id) is not true) then
    perform identity.raise_error('L9VAL', 'projects: each must be 1 to 200 letters, digits or ._/@:+-');
  elsif not identity.is_project_id(create_api_key.default_project)
    or create_api_key.default_project is not null and create_api_key.default_project <> all (key_projects) then
    perform identity.raise_error('L9VAL', 'default_project: must be one of the projects of the key');
  elsif cardinality(create_api_key.tool_sets) = 0 then
    perform identity.raise_error('L9VAL', 'tool_sets: must name at least one, or be omitted');
  elsif not create_api_key.tool_sets <@ identity.tool_sets() then
    perform identity.raise_error('L9VAL', 'tool_sets: each must be one of ' || array_to_string(identity.tool_sets(), ', '));
  elsif create_api_key.expires_at <= clock_timestamp() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future');
  elsif not identity.are_claims_valid(
      admin.target_tenant_id, actor.caller, create_api_key.org_id, create_api_key.user_id, null) then
    perform identity.raise_error('L9VAL', 'org_id, user_id: not active, or the user belongs to another org', 'user_id');
  end if;

  update public.actors a set registered_by = null
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller and a.registered_by is not null;
  created.api_key := coalesce((select 'l9k_' || t.route || '_' from public.tenants t where t.tenant_id = actor.tenant_id), 'l9_')
    || translate(encode(extensions.gen_random_bytes(32), 'base64'), '+/=', '-_');
  insert into public.api_keys (
    tenant_id, name, caller, org_id, user_id, scopes, projects, default_project, tool_sets, created_by, expires_at)
  values (admin.target_tenant_id, create_api_key.name, actor.caller, create_api_key.org_id, create_api_key.user_id, key_scopes,
    key_projects, create_api_key.default_project, create_api_key.tool_sets,
    coalesce(admin.caller, 'db:' || identity.current_role_name()), create_api_key.expires_at)
  returning api_keys.key_id, api_keys.name, api_keys.caller, api_keys.expires_at
  into created.key_id, created.name, created.caller, created.expires_at;
  insert into identity.api_key_hashes (key_id, hash) values (created.key_id, sha256(convert_to(created.api_key, 'UTF8')));
  return created;
end $$;
comment on function public.create_api_key is 'Creates an MCP key for an actor and returns it, only this once. It is limited to '
  'scopes, projects and the tools of tool_sets (core, knowledge, archive, admin); null: all. default_project: that of what is '
  'saved without naming one. It cannot do more than the administrator. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, '
  'L9AUT. Definer: identity tables change through functions only.';
grant execute on function public.create_api_key to l9_admin, l9_platform_admin;
