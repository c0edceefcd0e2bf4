--! Previous: sha1:ad3b943310dd45efa655b154d849e9f6f1c61a9e
--! Hash: sha1:1954e2e486fce1547f23007d1d98a4d7368d84bc
--! Message: name the person and unknown clients

--! split: 1-current.sql
-- column identity.active_actors.registered_by is new
alter table identity.active_actors add column if not exists registered_by text;

-- column public.actors.registered_by is new
alter table public.actors add column if not exists registered_by text;

-- column public.tenants.register_unknown_clients is new
alter table public.tenants add column if not exists register_unknown_clients boolean default false not null;

-- function administration.client_name(text) is new
CREATE OR REPLACE FUNCTION administration.client_name(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
RETURN (SELECT n.plain FROM (SELECT btrim(regexp_replace(lower(NORMALIZE(client_name.name, NFKC)), '[^a-z0-9._]+'::text, '-'::text, 'g'::text), '._-'::text) AS btrim) n(plain) WHERE (identity.is_display_name(client_name.name, 100) AND identity.is_caller_name(n.plain) AND (n.plain !~ '^l9'::text) AND (n.plain <> ALL (ARRAY['job'::text, 'me'::text, 'person'::text, 'user'::text, 'system'::text, 'admin'::text, 'administrator'::text, 'operator'::text]))))
;

-- function administration.identity_directory() is another
CREATE OR REPLACE FUNCTION administration.identity_directory()
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
RETURN jsonb_build_object('actors', (SELECT COALESCE(jsonb_agg(jsonb_build_object('tenant_id', a.tenant_id, 'caller', a.caller, 'role', a.role, 'login', a.login, 'registered_by', a.registered_by, 'reads_per_minute', a.reads_per_minute, 'writes_per_minute', a.writes_per_minute)), '[]'::jsonb) AS "coalesce" FROM (public.actors a JOIN public.tenants t ON (((t.tenant_id = a.tenant_id) AND t.is_active))) WHERE a.is_active), 'tenants', (SELECT COALESCE(jsonb_agg(jsonb_build_object('tenant_id', t.tenant_id, 'reads_per_minute', t.reads_per_minute, 'writes_per_minute', t.writes_per_minute)), '[]'::jsonb) AS "coalesce" FROM public.tenants t WHERE t.is_active), 'scopes', (SELECT COALESCE(jsonb_agg(jsonb_build_object('tenant_id', s.tenant_id, 'scope', s.scope)), '[]'::jsonb) AS "coalesce" FROM public.scopes s), 'orgs', (SELECT COALESCE(jsonb_agg(jsonb_build_object('tenant_id', o.tenant_id, 'org_id', o.org_id, 'name', o.name, 'is_active', o.is_active)), '[]'::jsonb) AS "coalesce" FROM public.orgs o), 'limited_users', (SELECT COALESCE(jsonb_agg(jsonb_build_object('tenant_id', u.tenant_id, 'user_id', u.user_id, 'org_id', u.org_id, 'is_active', u.is_active)), '[]'::jsonb) AS "coalesce" FROM public.users u WHERE ((NOT u.is_active) OR (u.org_id IS NOT NULL))), 'api_keys', (SELECT COALESCE(jsonb_agg(jsonb_build_object('key_id', k.key_id, 'hash', encode(h.hash, 'hex'::text), 'tenant_id', k.tenant_id, 'caller', k.caller, 'org_id', k.org_id, 'user_id', k.user_id, 'scopes', k.scopes, 'projects', k.projects, 'default_project', k.default_project, 'tool_sets', k.tool_sets, 'expires_at', k.expires_at)), '[]'::jsonb) AS "coalesce" FROM (public.api_keys k JOIN identity.api_key_hashes h ON ((h.key_id = k.key_id))) WHERE ((k.revoked_at IS NULL) AND ((k.expires_at IS NULL) OR (k.expires_at > now())))))
;

-- function administration.letters_of(text) is new
CREATE OR REPLACE FUNCTION administration.letters_of(name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
RETURN regexp_replace(lower(name), '[^a-z0-9]'::text, ''::text, 'g'::text)
;

-- function administration.max_clients() is new
CREATE OR REPLACE FUNCTION administration.max_clients()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN 100
;

-- function administration.register_client(text) is new
CREATE OR REPLACE FUNCTION administration.register_client(name text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me identity.identity := identity.require_identity();
  client_name text := administration.client_name(register_client.name);
  known_by text;
begin
  if me.role <> 'l9_agent' or client_name is null then
    return null;
  end if;
  select a.registered_by into known_by from public.actors a where a.tenant_id = me.tenant_id and a.caller = client_name;
  if not found then
    -- Two clients that are first seen at once must not exceed the limit, or take names that are alike.
    perform t.tenant_id from public.tenants t where t.tenant_id = me.tenant_id and t.register_unknown_clients for no key update;
    if not found or exists (
        select from public.actors a, unnest(array[a.caller, a.creator, a.source, a.agent]) as n (name)
        where a.tenant_id = me.tenant_id and administration.letters_of(n.name) = administration.letters_of(client_name))
      or (select count(*) from public.actors a where a.tenant_id = me.tenant_id and a.registered_by is not null)
        >= administration.max_clients() then
      return null;
    end if;
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up,
      reads_per_minute, writes_per_minute, max_importance, max_confidence, max_lesson_confidence, max_priority, registered_by)
    select a.tenant_id, client_name, client_name, client_name, client_name, a.role, a.readable_scopes, a.writable_scopes,
      a.can_clean_up, a.reads_per_minute, a.writes_per_minute, a.max_importance, a.max_confidence, a.max_lesson_confidence,
      a.max_priority, a.caller
    from public.actors a where a.tenant_id = me.tenant_id and a.caller = me.caller and a.registered_by is null
    on conflict do nothing returning actors.registered_by into known_by;
  end if;
  return case when known_by = me.caller then client_name end;
end $function$
;

-- function administration.tg_actors__give_rights_to_clients() is new
CREATE OR REPLACE FUNCTION administration.tg_actors__give_rights_to_clients()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update public.actors a
  set readable_scopes = new.readable_scopes, writable_scopes = new.writable_scopes, can_clean_up = new.can_clean_up,
    reads_per_minute = new.reads_per_minute, writes_per_minute = new.writes_per_minute, max_importance = new.max_importance,
    max_confidence = new.max_confidence, max_lesson_confidence = new.max_lesson_confidence, max_priority = new.max_priority
  where a.tenant_id = new.tenant_id and a.registered_by = new.caller;
  return null;
end $function$
;

-- function archive.narrowest_scope() is another
CREATE OR REPLACE FUNCTION archive.narrowest_scope()
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT s.scope
    FROM public.scopes s
   WHERE ((s.tenant_id = identity.current_tenant_id()) AND (s.scope = ANY ((identity.current_identity()).writable_scopes)))
   ORDER BY s.is_project_scoped DESC,
         CASE s.scope
             WHEN 'l-private'::text THEN
             CASE identity.current_caller()
                 WHEN 'L'::text THEN 0
                 ELSE 3
             END
             WHEN 'developer'::text THEN 2
             WHEN 'global'::text THEN 2
             ELSE 1
         END, s.scope
  LIMIT 1;
END
;

-- function identity.current_identity() is another
CREATE OR REPLACE FUNCTION identity.current_identity()
 RETURNS identity.identity
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  me identity.identity;
  tenant_claim text := nullif(current_setting('jwt.claims.tenant_id', true), '');
  org_claim text := nullif(current_setting('jwt.claims.org_id', true), '');
  user_claim text := nullif(current_setting('jwt.claims.user_id', true), '');
  key_claim text := nullif(current_setting('jwt.claims.key_id', true), '');
  caller_claim text := nullif(current_setting('jwt.claims.caller', true), '');
  via_claim text := nullif(current_setting('jwt.claims.via', true), '');
  scopes_claim text := nullif(current_setting('jwt.claims.scopes', true), '');
  projects_claim text := nullif(current_setting('jwt.claims.projects', true), '');
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  bound_actor record;
begin
  -- Anyone with a database session can set claims, and only the gateway verifies them. Any other login is the actor it is
  -- bound to or has no identity; its claims can only reduce its scopes and projects.
  if session_user <> 'l9_gateway' and not pg_has_role(session_user, 'l9_gateway', 'member') then
    select a.tenant_id, a.caller into bound_actor from public.actors a where a.login = session_user;
    if not found or tenant_claim <> bound_actor.tenant_id::text or caller_claim <> bound_actor.caller
      or org_claim is not null or user_claim is not null or key_claim is not null then
      return null;
    end if;
    tenant_claim := bound_actor.tenant_id;
    caller_claim := bound_actor.caller;
    if role_name = session_user then
      -- The session has not taken one of our roles but inherits one. With more than one, its role is ambiguous.
      role_name := (
        select case count(*) when 1 then min(r.name) end
        from unnest(identity.caller_roles()) as r (name)
        where pg_has_role(session_user, r.name, 'usage'));
    end if;
  end if;

  -- A malformed claim yields no identity. If it were ignored, the caller would write to a wider audience than it asked for.
  if caller_claim is null or tenant_claim is null or not pg_input_is_valid(tenant_claim, 'uuid')
    or not pg_input_is_valid(org_claim, 'uuid') or not pg_input_is_valid(user_claim, 'uuid')
    or not pg_input_is_valid(key_claim, 'uuid') then
    return null;
  end if;
  me.projects := case when projects_claim is null then '{*}' else identity.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    a.readable_scopes, a.writable_scopes, me.projects, a.can_clean_up
  into me
  from identity.active_actors a
  where a.tenant_id = tenant_claim::uuid and a.caller = caller_claim and a.role = role_name
    -- The key is that of another caller, which may speak only for clients that are known by their name alone.
    and (via_claim is null or a.registered_by = via_claim);

  if scopes_claim is not null then
    me.readable_scopes := identity.intersect_scopes(me.readable_scopes, identity.list_claim('scopes'));
    me.writable_scopes := identity.intersect_scopes(me.writable_scopes, identity.list_claim('scopes'));
  end if;
  if (org_claim is not null or user_claim is not null or key_claim is not null)
    and not identity.are_claims_valid(
      me.tenant_id, coalesce(via_claim, me.caller), me.org_id, me.user_id, key_claim::uuid) then
    return null;
  end if;
  return me;
end $function$
;

-- function identity.refresh_active_actors(uuid) is another
CREATE OR REPLACE FUNCTION identity.refresh_active_actors(tenant_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- The lock serialises changes of one tenant, so that the second transaction sees the changes of the first: each statement
  -- after this one takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('identity.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from identity.active_actors cached where cached.tenant_id = refresh_active_actors.tenant_id;
  insert into identity.active_actors
    (tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes, registered_by)
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}'),
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}'),
    a.registered_by
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  left join public.scopes s on s.tenant_id = a.tenant_id and s.is_active
  where a.tenant_id = refresh_active_actors.tenant_id and a.is_active
    and (a.registered_by is null or exists (
      select from public.actors p where p.tenant_id = a.tenant_id and p.caller = a.registered_by and p.is_active))
  group by a.tenant_id, a.caller;
end $function$
;

-- function public.act_as(text,uuid,uuid,uuid,text[],text[]) is another
CREATE OR REPLACE FUNCTION public.act_as(caller text, tenant_id uuid DEFAULT NULL::uuid, org_id uuid DEFAULT NULL::uuid, user_id uuid DEFAULT NULL::uuid, projects text[] DEFAULT NULL::text[], scopes text[] DEFAULT NULL::text[])
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  target_tenant_id uuid := coalesce(act_as.tenant_id, identity.default_tenant_id());
  me identity.identity;
begin
  if act_as.caller is null then
    perform identity.raise_error('L9VAL', 'caller: required, for example C');
  end if;
  perform
    set_config('jwt.claims.caller', act_as.caller, true),
    set_config('jwt.claims.via', '', true),
    set_config('jwt.claims.tenant_id', target_tenant_id::text, true),
    set_config('jwt.claims.org_id', coalesce(act_as.org_id::text, ''), true),
    set_config('jwt.claims.user_id', coalesce(act_as.user_id::text, ''), true),
    set_config('jwt.claims.projects', coalesce(to_json(act_as.projects)::text, ''), true),
    set_config('jwt.claims.scopes', coalesce(to_json(act_as.scopes)::text, ''), true),
    set_config('jwt.claims.key_id', '', true),
    set_config('jwt.claims.default_project', '', true),
    set_config('jwt.claims.correlation_id', '', true),
    set_config('jwt.claims.session_id', '', true),
    set_config('jwt.claims.trace_id', '', true);
  me := identity.current_identity();
  if me.caller is null then
    perform identity.raise_error('L9AUT', administration.explain_refusal(target_tenant_id, act_as.caller), 'caller');
  end if;
  return format('%s reads %s; writes %s; projects %s', me.caller,
    coalesce(nullif(array_to_string(me.readable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.writable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.projects, ', '), ''), 'none'));
end $function$
;

-- function public.bind_login(text,text,uuid) is another
CREATE OR REPLACE FUNCTION public.bind_login(caller text, login text, tenant_id uuid DEFAULT NULL::uuid)
 RETURNS public.actors
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin administration.administrator;
  actor public.actors;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(bind_login.tenant_id);
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = bind_login.caller for update;
  if not found then
    perform administration.raise_not_found('caller');
  elsif bind_login.login is not null then
    if not exists (select from pg_roles r where r.rolname = bind_login.login and r.rolcanlogin) then
      perform identity.raise_error('L9VAL', 'login: no such login');
    elsif pg_has_role(bind_login.login, 'l9_gateway', 'member') then
      perform identity.raise_error('L9VAL',
        'login: l9_gateway and its members cannot be bound, because their claims are trusted');
    elsif not pg_has_role(bind_login.login, actor.role, 'member') then
      perform identity.raise_error('L9VAL', format('login: must be a member of %s, the role of this actor', actor.role));
    elsif exists (
        select from public.actors a
        where a.login = bind_login.login and (a.tenant_id, a.caller) <> (actor.tenant_id, actor.caller)) then
      perform identity.raise_error('L9VAL', 'login: already bound to another actor');
    end if;
    perform l9_guard.limit_login(bind_login.login);
  end if;
  update public.actors a set login = bind_login.login, registered_by = null
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller returning a.* into actor;
  return actor;
end $function$
;

-- function public.create_api_key(text,text,text[],text[],uuid,uuid,timestamp with time zone,uuid,text,text[]) is another
CREATE OR REPLACE FUNCTION public.create_api_key(name text, caller text, scopes text[] DEFAULT NULL::text[], projects text[] DEFAULT NULL::text[], org_id uuid DEFAULT NULL::uuid, user_id uuid DEFAULT NULL::uuid, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id uuid DEFAULT NULL::uuid, default_project text DEFAULT NULL::text, tool_sets text[] DEFAULT NULL::text[])
 RETURNS public.new_api_key
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
  created.api_key := 'l9_' || translate(encode(extensions.gen_random_bytes(32), 'base64'), '+/=', '-_');
  insert into public.api_keys (
    tenant_id, name, caller, org_id, user_id, scopes, projects, default_project, tool_sets, created_by, expires_at)
  values (admin.target_tenant_id, create_api_key.name, actor.caller, create_api_key.org_id, create_api_key.user_id, key_scopes,
    key_projects, create_api_key.default_project, create_api_key.tool_sets,
    coalesce(admin.caller, 'db:' || identity.current_role_name()), create_api_key.expires_at)
  returning api_keys.key_id, api_keys.name, api_keys.caller, api_keys.expires_at
  into created.key_id, created.name, created.caller, created.expires_at;
  insert into identity.api_key_hashes (key_id, hash) values (created.key_id, sha256(convert_to(created.api_key, 'UTF8')));
  return created;
end $function$
;

-- function public.register_actor(text,text,text,text,text,text[],text[],boolean,integer,integer,uuid,text,real,double precision,double precision,text) is another
CREATE OR REPLACE FUNCTION public.register_actor(caller text, creator text DEFAULT NULL::text, source text DEFAULT NULL::text, agent text DEFAULT NULL::text, role text DEFAULT NULL::text, readable_scopes text[] DEFAULT NULL::text[], writable_scopes text[] DEFAULT NULL::text[], can_clean_up boolean DEFAULT NULL::boolean, reads_per_minute integer DEFAULT NULL::integer, writes_per_minute integer DEFAULT NULL::integer, tenant_id uuid DEFAULT NULL::uuid, default_project text DEFAULT NULL::text, max_importance real DEFAULT NULL::real, max_confidence double precision DEFAULT NULL::double precision, max_lesson_confidence double precision DEFAULT NULL::double precision, max_priority text DEFAULT NULL::text)
 RETURNS public.actors
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin administration.administrator := administration.require_administrator(register_actor.tenant_id);
  actor public.actors;
  is_new boolean;
begin
  if identity.is_caller_name(register_actor.caller) is not true then
    perform identity.raise_error('L9VAL', 'caller: 1 to 63 letters, digits, ., _ and -');
  end if;
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = register_actor.caller for update;
  is_new := not found;

  if is_new then
    actor.tenant_id := admin.target_tenant_id;
    actor.caller := register_actor.caller;
    actor.creator := coalesce(register_actor.creator, register_actor.caller);
    actor.source := lower(register_actor.caller);
    actor.agent := lower(register_actor.caller);
    actor.role := 'l9_agent';
    actor.readable_scopes := '{developer,global}';
    actor.writable_scopes := coalesce(register_actor.readable_scopes, '{developer,global}');
    actor.can_clean_up := false;
    actor.reads_per_minute := 30000;
    actor.writes_per_minute := 12000;
  elsif admin.own_tenant_id = admin.target_tenant_id and admin.caller = actor.caller then
    perform identity.raise_error('L9SCP', 'caller: this is your own actor; only another administrator can change it');
  elsif register_actor.creator <> actor.creator then
    -- An agent owns the memories that carry its creator. With a new creator it would lose them, and the next actor with the old
    -- creator would get them.
    perform identity.raise_error('L9IMM', 'creator: cannot change, because the memories of this actor carry it');
  else
    perform administration.check_grantable(
      admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  end if;

  actor.source := coalesce(register_actor.source, actor.source);
  actor.agent := coalesce(register_actor.agent, actor.agent);
  actor.role := coalesce(register_actor.role, actor.role);
  actor.readable_scopes := coalesce(register_actor.readable_scopes, actor.readable_scopes);
  actor.writable_scopes := coalesce(register_actor.writable_scopes, actor.writable_scopes);
  actor.can_clean_up := coalesce(register_actor.can_clean_up, actor.can_clean_up);
  actor.reads_per_minute := coalesce(register_actor.reads_per_minute, actor.reads_per_minute);
  actor.writes_per_minute := coalesce(register_actor.writes_per_minute, actor.writes_per_minute);
  actor.default_project := nullif(coalesce(register_actor.default_project, actor.default_project), '');

  actor.max_importance := coalesce(register_actor.max_importance, actor.max_importance);
  actor.max_confidence := coalesce(register_actor.max_confidence, actor.max_confidence);
  actor.max_lesson_confidence := coalesce(register_actor.max_lesson_confidence, actor.max_lesson_confidence);
  actor.max_priority := coalesce(register_actor.max_priority, actor.max_priority);

  if not identity.is_display_name(actor.creator, 100) then
    perform identity.raise_error('L9VAL', 'creator: 1 to 100 characters, with no leading or trailing white space');
  elsif not identity.is_display_name(actor.source, 100) then
    perform identity.raise_error('L9VAL', 'source: 1 to 100 characters, with no leading or trailing white space');
  elsif not identity.is_display_name(actor.agent, 100) then
    perform identity.raise_error('L9VAL', 'agent: 1 to 100 characters, with no leading or trailing white space');
  elsif not identity.is_project_id(actor.default_project) then
    perform identity.raise_error('L9VAL', 'default_project: must be 1 to 200 letters, digits or ._/@:+-, or empty for none');
  elsif actor.role <> all (identity.caller_roles()) then
    perform identity.raise_error('L9VAL', 'role: must be l9_agent, l9_admin or l9_platform_admin');
  end if;
  if not actor.max_importance between 0 and 1 then
    perform identity.raise_error('L9VAL', 'max_importance: must be from 0 to 1');
  elsif not actor.max_confidence between 0 and 1 then
    perform identity.raise_error('L9VAL', 'max_confidence: must be from 0 to 1');
  elsif not actor.max_lesson_confidence between 0 and 1 then
    perform identity.raise_error('L9VAL', 'max_lesson_confidence: must be from 0 to 1');
  elsif actor.max_priority not in ('low', 'medium', 'high', 'critical') then
    perform identity.raise_error('L9VAL', 'max_priority: must be low, medium, high or critical');
  end if;
  perform administration.check_call_limit('reads_per_minute', actor.reads_per_minute);
  perform administration.check_call_limit('writes_per_minute', actor.writes_per_minute);
  perform administration.check_grantable(
    admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  actor.readable_scopes := administration.check_scope_list(admin.target_tenant_id, 'readable_scopes', actor.readable_scopes);
  actor.writable_scopes := administration.check_scope_list(admin.target_tenant_id, 'writable_scopes', actor.writable_scopes);
  if not ('*' = any (actor.readable_scopes) or actor.writable_scopes <@ actor.readable_scopes) then
    perform identity.raise_error('L9VAL', 'writable_scopes: must be scopes that the actor can also read');
  end if;

  if is_new then
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up,
      reads_per_minute, writes_per_minute, default_project, max_importance, max_confidence, max_lesson_confidence, max_priority)
    values (actor.tenant_id, actor.caller, actor.creator, actor.source, actor.agent, actor.role, actor.readable_scopes,
      actor.writable_scopes, actor.can_clean_up, actor.reads_per_minute, actor.writes_per_minute, actor.default_project,
      actor.max_importance, actor.max_confidence, actor.max_lesson_confidence, actor.max_priority)
    on conflict do nothing returning actors.* into actor;
    if not found then
      perform identity.raise_error('L9VAL', 'caller, creator: already used by another actor of this tenant', 'creator');
    end if;
  else
    update public.actors a set
      source = actor.source, agent = actor.agent, role = actor.role, readable_scopes = actor.readable_scopes,
      writable_scopes = actor.writable_scopes, can_clean_up = actor.can_clean_up,
      reads_per_minute = actor.reads_per_minute, writes_per_minute = actor.writes_per_minute,
      default_project = actor.default_project, max_importance = actor.max_importance, max_confidence = actor.max_confidence,
      max_lesson_confidence = actor.max_lesson_confidence, max_priority = actor.max_priority, registered_by = null
    where a.tenant_id = actor.tenant_id and a.caller = actor.caller returning a.* into actor;
  end if;
  return actor;
end $function$
;

-- function public.set_register_unknown_clients(boolean,uuid) is new
CREATE OR REPLACE FUNCTION public.set_register_unknown_clients(enabled boolean, tenant_id uuid DEFAULT NULL::uuid)
 RETURNS public.tenants
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin administration.administrator := administration.require_unlimited(set_register_unknown_clients.tenant_id);
  changed public.tenants;
begin
  if enabled is null then
    perform identity.raise_error('L9VAL', 'enabled: must be true or false');
  end if;
  update public.tenants t set register_unknown_clients = enabled where t.tenant_id = admin.target_tenant_id
  returning * into changed;
  return changed;
end $function$
;

-- constraint actor_known_by_name_is_agent on public.actors is new
alter table public.actors drop constraint if exists actor_known_by_name_is_agent;
alter table public.actors add constraint actor_known_by_name_is_agent CHECK (((registered_by IS NULL) OR ((role = 'l9_agent'::text) AND (login IS NULL))));

-- view public.access_matrix is another
create or replace view public.access_matrix with (security_invoker=true) as  WITH policies AS (
         SELECT r.role,
            p.polpermissive AS is_permissive,
                CASE p.polcmd
                    WHEN 'r'::"char" THEN 'select'::text
                    WHEN 'a'::"char" THEN 'insert'::text
                    WHEN 'w'::"char" THEN 'update'::text
                    WHEN 'd'::"char" THEN 'delete'::text
                    ELSE 'all'::text
                END AS command,
            COALESCE(pg_get_expr(p.polqual, p.polrelid), ''::text) AS qual,
            COALESCE(pg_get_expr(p.polwithcheck, p.polrelid), pg_get_expr(p.polqual, p.polrelid), ''::text) AS new_qual
           FROM (pg_policy p
             CROSS JOIN unnest(identity.caller_roles()) r(role))
          WHERE ((p.polrelid = ('public.packet_store'::regclass)::oid) AND (EXISTS ( SELECT
                   FROM unnest(p.polroles) g(id)
                  WHERE pg_has_role((r.role)::name, g.id, 'usage'::text))))
        ), rights AS (
         SELECT r.role,
            (has_table_privilege((r.role)::name, 'public.packet_store'::text, 'select'::text) AND COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'select'::text])))), false)) AS may_read,
            COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'select'::text])) AND (p.qual !~ 'current_scopes\('::text))), false) AS reads_any_scope,
            (has_any_column_privilege((r.role)::name, 'public.packet_store'::text, 'insert'::text) AND COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'insert'::text])))), false)) AS may_write,
            COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'insert'::text])) AND (p.new_qual !~ 'current_writable_scopes\('::text))), false) AS writes_any_scope,
            (has_any_column_privilege((r.role)::name, 'public.packet_store'::text, 'update'::text) AND has_table_privilege((r.role)::name, 'public.packet_store'::text, 'delete'::text) AND COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'update'::text])))), false) AND COALESCE(bool_or((p.is_permissive AND (p.command = ANY (ARRAY['all'::text, 'delete'::text])))), false)) AS may_change,
            COALESCE(bool_or(((NOT p.is_permissive) AND (p.command = ANY (ARRAY['all'::text, 'update'::text, 'delete'::text])) AND (p.qual ~ '''creator''.*current_creator\('::text))), false) AS changes_own_only,
            (EXISTS ( SELECT
                   FROM pg_proc f
                  WHERE ((f.pronamespace = ('public'::regnamespace)::oid) AND (f.proname = 'delete_expired_memories'::name) AND has_function_privilege((r.role)::name, f.oid, 'execute'::text)))) AS may_clean_up
           FROM (unnest(identity.caller_roles()) r(role)
             LEFT JOIN policies p ON ((p.role = r.role)))
          GROUP BY r.role
        ), cells AS (
         SELECT a.tenant_id,
            a.caller,
            a.role,
            s.scope,
            s.is_project_scoped,
            r.may_change,
            r.changes_own_only,
            (r.may_clean_up AND a.can_clean_up) AS may_clean_up,
            (t.is_active AND a.is_active AND COALESCE(p.is_active, true) AND r.may_read AND (r.reads_any_scope OR (s.is_active AND (('*'::text = ANY (a.readable_scopes)) OR (s.scope = ANY (a.readable_scopes)))))) AS may_read,
            (t.is_active AND a.is_active AND COALESCE(p.is_active, true) AND r.may_write AND (r.writes_any_scope OR (s.is_active AND (('*'::text = ANY (a.writable_scopes)) OR (s.scope = ANY (a.writable_scopes)))))) AS may_write
           FROM ((((public.actors a
             JOIN public.tenants t ON ((t.tenant_id = a.tenant_id)))
             JOIN public.scopes s ON ((s.tenant_id = a.tenant_id)))
             JOIN rights r ON ((r.role = a.role)))
             LEFT JOIN public.actors p ON (((p.tenant_id = a.tenant_id) AND (p.caller = a.registered_by))))
        )
 SELECT tenant_id,
    caller,
    role,
    scope,
    is_project_scoped,
    may_read,
    may_write,
        CASE
            WHEN (NOT (may_read AND may_write AND may_change)) THEN 'none'::text
            WHEN changes_own_only THEN 'own'::text
            ELSE 'any'::text
        END AS may_change,
    (may_write AND may_clean_up) AS may_clean_up
   FROM cells;

-- trigger _500_audit on public.actors is another
create or replace trigger _500_audit AFTER INSERT OR UPDATE ON public.actors FOR EACH ROW EXECUTE FUNCTION administration.tg__audit_identity('', 'creator', 'source', 'role', 'readable_scopes', 'writable_scopes', 'can_clean_up', 'reads_per_minute', 'writes_per_minute', 'login', 'default_project', 'is_active', 'registered_by');

-- trigger _500_audit on public.tenants is another
create or replace trigger _500_audit AFTER INSERT OR UPDATE ON public.tenants FOR EACH ROW EXECUTE FUNCTION administration.tg__audit_identity('tenant_id', 'name', 'is_active', 'audits_query_text', 'reads_per_minute', 'writes_per_minute', 'register_unknown_clients');

-- trigger _610_clients on public.actors is new
create or replace trigger _610_clients AFTER UPDATE ON public.actors FOR EACH ROW WHEN ((new.registered_by IS NULL)) EXECUTE FUNCTION administration.tg_actors__give_rights_to_clients();

-- grants on routine administration.client_name(text) to l9_owner is new
revoke all on routine administration.client_name(text) from l9_owner;
grant EXECUTE on routine administration.client_name(text) to l9_owner;

-- grants on routine administration.letters_of(text) to l9_owner is new
revoke all on routine administration.letters_of(text) from l9_owner;
grant EXECUTE on routine administration.letters_of(text) to l9_owner;

-- grants on routine administration.max_clients() to l9_owner is new
revoke all on routine administration.max_clients() from l9_owner;
grant EXECUTE on routine administration.max_clients() to l9_owner;

-- grants on routine administration.register_client(text) to l9_agent is new
revoke all on routine administration.register_client(text) from l9_agent;
grant EXECUTE on routine administration.register_client(text) to l9_agent;

-- grants on routine administration.register_client(text) to l9_owner is new
revoke all on routine administration.register_client(text) from l9_owner;
grant EXECUTE on routine administration.register_client(text) to l9_owner;

-- grants on routine administration.tg_actors__give_rights_to_clients() to l9_owner is new
revoke all on routine administration.tg_actors__give_rights_to_clients() from l9_owner;
grant EXECUTE on routine administration.tg_actors__give_rights_to_clients() to l9_owner;

-- grants on routine public.set_register_unknown_clients(boolean,uuid) to l9_admin is new
revoke all on routine public.set_register_unknown_clients(boolean,uuid) from l9_admin;
grant EXECUTE on routine public.set_register_unknown_clients(boolean,uuid) to l9_admin;

-- grants on routine public.set_register_unknown_clients(boolean,uuid) to l9_owner is new
revoke all on routine public.set_register_unknown_clients(boolean,uuid) from l9_owner;
grant EXECUTE on routine public.set_register_unknown_clients(boolean,uuid) to l9_owner;

-- grants on routine public.set_register_unknown_clients(boolean,uuid) to l9_platform_admin is new
revoke all on routine public.set_register_unknown_clients(boolean,uuid) from l9_platform_admin;
grant EXECUTE on routine public.set_register_unknown_clients(boolean,uuid) to l9_platform_admin;

-- owner of routine administration.client_name(text) is new
alter routine administration.client_name(text) owner to l9_owner;

-- owner of routine administration.letters_of(text) is new
alter routine administration.letters_of(text) owner to l9_owner;

-- owner of routine administration.max_clients() is new
alter routine administration.max_clients() owner to l9_owner;

-- owner of routine administration.register_client(text) is new
alter routine administration.register_client(text) owner to l9_owner;

-- owner of routine administration.tg_actors__give_rights_to_clients() is new
alter routine administration.tg_actors__give_rights_to_clients() owner to l9_owner;

-- owner of routine public.set_register_unknown_clients(boolean,uuid) is new
alter routine public.set_register_unknown_clients(boolean,uuid) owner to l9_owner;

-- comment on column public.actors.registered_by is new
comment on column public.actors.registered_by is 'Null: an administrator registered the actor. Else the actor is a client that is known only by the name that it gives itself: it calls with the key of this caller, and has its rights. With a key, login or rights of its own this is null.';

-- comment on column public.tenants.register_unknown_clients is new
comment on column public.tenants.register_unknown_clients is 'If true, a client that an agent''s key calls for is registered under the name that it gives itself.';

-- comment on function administration.client_name(pg_catalog.text) is new
comment on function administration.client_name(pg_catalog.text) is 'The name of a caller made from the name of a client: lower-case letters, digits, ., _ and -. Null if it can make none, or only one that no client may have.';

-- comment on function administration.letters_of(pg_catalog.text) is new
comment on function administration.letters_of(pg_catalog.text) is 'The letters and digits of a name. Names of which these are the same look alike.';

-- comment on function administration.max_clients() is new
comment on function administration.max_clients() is 'How many clients that are known by their name alone a tenant may have.';

-- comment on function administration.register_client(pg_catalog.text) is new
comment on function administration.register_client(pg_catalog.text) is 'The caller that a client of this name is, which calls with the key of the current caller: registered now if it is unknown and the tenant allows that (set_register_unknown_clients()), with the same rights. Null: the name gives it none, so it is the current caller itself. For agents. Audited. Definer: identity tables change through functions only.';

-- comment on function administration.tg_actors__give_rights_to_clients() is new
comment on function administration.tg_actors__give_rights_to_clients() is 'Gives the rights of a caller to the clients that are known by their name alone and call with its key.';

-- comment on function archive.narrowest_scope() is another
comment on function archive.narrowest_scope() is 'The default scope of an archive: the narrowest that the caller may write, where l-private is that of L alone.';

-- comment on function public.set_register_unknown_clients(boolean,pg_catalog.uuid) is new
comment on function public.set_register_unknown_clients(boolean,pg_catalog.uuid) is 'Sets whether a client of MCP over stdio that has no key of its own is registered under the name that it gives itself, with the rights of the caller whose key it has. Those that are registered already stay. For admins with an unlimited token. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

-- comment on policy definer_inserts on public.actors is another
comment on policy definer_inserts on public.actors is 'register_actor(), register_client() and create_tenant() insert.';

-- comment on policy definer_updates on public.actors is another
comment on policy definer_updates on public.actors is 'register_actor(), create_api_key(), bind_login(), deactivate_actor() and reactivate_actor() update. Nothing deletes an actor, because its memories name it.';

-- comment on policy definer_updates on public.tenants is another
comment on policy definer_updates on public.tenants is 'deactivate_tenant(), reactivate_tenant(), set_query_text_audit(), set_register_unknown_clients() and set_tenant_limits() update. Nothing deletes a tenant.';

-- The person at this machine, unless an administrator has registered an actor of this name. Where another actor has its creator, it
-- gets another one.
insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
select identity.default_tenant_id(), 'me', c.creator, 'person', 'person', 'l9_admin', '{*}', '{*}', true
from (values ('me'), ('person at this machine')) as c (creator)
on conflict do nothing;
