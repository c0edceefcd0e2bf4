create type public.new_api_key as (
  api_key text,
  key_id uuid,
  name text,
  caller text,
  expires_at timestamptz
);
comment on type public.new_api_key is 'An API key just made.';
comment on column public.new_api_key.api_key is 'The key. It is shown here and never again.';
comment on column public.new_api_key.key_id is 'Its id, for revoke_api_key().';
comment on column public.new_api_key.name is 'What it is for.';
comment on column public.new_api_key.caller is 'The actor that it stands for.';
comment on column public.new_api_key.expires_at is 'From then on it is refused; null: never.';

create function administration.check_key_reach(admin administration.administrator, actor public.actors, scopes text[], projects text[])
returns void
language sql
stable
set search_path = ''
return administration.check_reach(
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

comment on function administration.check_key_reach(administration.administrator, public.actors, text[], text[]) is
  'L9SCP unless the administrator has itself what a key of this actor, so cut down, can do.';

create function public.create_api_key(
  name text,
  caller text,
  scopes text[] default null,
  projects text[] default null,
  org_id uuid default null,
  user_id uuid default null,
  expires_at timestamptz default null,
  tenant_id uuid default null
)
returns public.new_api_key
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_api_key.tenant_id);
  actor public.actors;
  wanted_scopes text[] := case when '*' = any (create_api_key.scopes) then null else create_api_key.scopes end;
  wanted_projects text[] := case when '*' = any (create_api_key.projects) then null else create_api_key.projects end;
  made public.new_api_key;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = create_api_key.caller and a.is_active;
  if not found then
    perform identity.raise_error('L9VAL', 'caller: no active actor of this tenant', 'caller');
  end if;
  perform administration.check_key_reach(admin, actor, wanted_scopes, wanted_projects);
  wanted_scopes := administration.check_scope_list(admin.target_tenant_id, 'scopes', wanted_scopes);

  if create_api_key.name is null or create_api_key.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$' then
    perform identity.raise_error('L9VAL', 'name: 1 to 100 characters, no white space around them', 'name');
  elsif cardinality(create_api_key.scopes) = 0 then
    perform identity.raise_error('L9VAL', 'scopes: at least one, or leave it out', 'scopes');
  elsif cardinality(create_api_key.projects) = 0 then
    perform identity.raise_error('L9VAL', 'projects: at least one, or leave it out', 'projects');
  elsif cardinality(wanted_projects) > 1000 then
    perform identity.raise_error('L9LIM', 'projects: at most 1000', 'projects');
  elsif exists (select from unnest(wanted_projects) as p (id) where (p.id ~ '^[A-Za-z0-9._/@:+-]{1,200}$') is not true) then
    perform identity.raise_error('L9VAL', 'projects: 1 to 200 letters, digits or ._/@:+- each', 'projects');
  elsif create_api_key.expires_at <= clock_timestamp() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future', 'expires_at');
  elsif not identity.are_claims_valid(admin.target_tenant_id, actor.caller, create_api_key.org_id, create_api_key.user_id, null) then
    perform identity.raise_error('L9VAL', 'org_id, user_id: not active, or they do not belong together', 'user_id');
  end if;

  made.api_key := 'l9_' || translate(encode(extensions.gen_random_bytes(32), 'base64'), '+/=', '-_');
  insert into public.api_keys (tenant_id, name, caller, org_id, user_id, scopes, projects, created_by, expires_at)
  values (admin.target_tenant_id, create_api_key.name, actor.caller, create_api_key.org_id, create_api_key.user_id, wanted_scopes,
    wanted_projects, coalesce(admin.caller, 'db:' || identity.current_role_name()), create_api_key.expires_at)
  returning api_keys.key_id, api_keys.name, api_keys.caller, api_keys.expires_at
  into made.key_id, made.name, made.caller, made.expires_at;
  insert into identity.api_key_hashes (key_id, hash) values (made.key_id, sha256(convert_to(made.api_key, 'UTF8')));
  return made;
end
$$;

comment on function public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid) is
  'Makes an MCP key for an actor, cut down to scopes and projects where these are given, and shows it: this once, since only its hash is kept. Nobody can make one that does more than it may itself. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function public.revoke_api_key(key_id uuid)
returns public.api_keys
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(null);
  old_key public.api_keys;
  actor public.actors;
begin
  select k.* into old_key from public.api_keys k
  where k.key_id = revoke_api_key.key_id and (admin.is_operator or k.tenant_id = admin.target_tenant_id)
  for update;
  if not found then
    perform administration.raise_not_found('key_id', 'key_id');
  end if;
  select a.* into actor from public.actors a where a.tenant_id = old_key.tenant_id and a.caller = old_key.caller;
  perform administration.check_key_reach(admin, actor, old_key.scopes, old_key.projects);
  update public.api_keys k set revoked_at = clock_timestamp()
  where k.key_id = old_key.key_id and k.revoked_at is null
  returning k.* into old_key;
  if not found then
    select k.* into old_key from public.api_keys k where k.key_id = revoke_api_key.key_id;
  end if;
  return old_key;
end
$$;

comment on function public.revoke_api_key(uuid) is
  'From the next request on this key is refused; again: changes nothing. For admins of the tenant. L9OWN where there is none. Definer: identity tables change by functions only.';

grant execute on function
  public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid), public.revoke_api_key(uuid)
to l9_admin, l9_platform_admin;
