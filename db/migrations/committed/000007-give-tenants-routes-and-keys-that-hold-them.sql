--! Previous: sha1:b5e9541d6783a14183c1b71910bf01f768199066
--! Hash: sha1:0a48b3dae13fe18c6c1e2f4f8e085fcb21b8d404
--! Message: give tenants routes and keys that hold them

--! split: 1-current.sql
-- column public.tenants.route is new
alter table public.tenants add column if not exists route text;

-- function identity.is_route(text) is new
CREATE OR REPLACE FUNCTION identity.is_route(route text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
RETURN (route ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'::text)
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
end $function$
;

-- function public.set_tenant_route(uuid,text) is new
CREATE OR REPLACE FUNCTION public.set_tenant_route(tenant_id uuid, route text)
 RETURNS public.tenants
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin administration.administrator;
  changed public.tenants;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(set_tenant_route.tenant_id);
  if identity.is_route(set_tenant_route.route) is not true then
    perform identity.raise_error('L9VAL', 'route: 1 to 40 lower-case letters, digits and -, with no - at its ends');
  elsif exists (
    select from public.tenants t where t.route = set_tenant_route.route and t.tenant_id <> admin.target_tenant_id) then
    perform identity.raise_error('L9VAL', 'route: already used by another tenant');
  end if;
  update public.tenants t set route = set_tenant_route.route
  where t.tenant_id = admin.target_tenant_id and coalesce(t.route, set_tenant_route.route) = set_tenant_route.route
  returning t.* into changed;
  if not found then
    perform identity.raise_error('L9VAL', 'route: the tenant has another, which its keys and host name hold');
  end if;
  return changed;
end $function$
;

-- function secrets.any_keyword() is another
CREATE OR REPLACE FUNCTION secrets.any_keyword()
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN '(?:\+A(?:Ba|St)|\.atlasv1\.|1\/\/0|4b1d|7Q\~|8Q\~|\:AA|A(?:B(?:IA|SK)|C(?:CA|Db)|GE-SECRET-KEY-(?:1|PQ-1)|Iza|K(?:Cp|IA)|PI(?:-|M)|SIA|T(?:ATT3|BB|CTT3)|VNS_|ZDO)|C(?:CIP(?:AT_|RJ_)|FPAT-|LOJARS_)|E(?:AAA|Z(?:AK|TK))|FLWSECK(?:-|_TEST-)|G(?:OCSPX-|R1348941)|HRKU-|L(?:S0tLS1CRUdJTi|TAI)|NRAK-|PMAK-|SG\.|T3BlbkFJ|access(?:-(?:development-|production-|sandbox-)|_token\$(?:production\$|sandbox\$))|b(?:edrock-api-key-|kua_)|c(?:f(?:at_|k_|lt|ut_)|io|mVmdGtuO|sk-)|d(?:api|ckr_(?:oat_|pat_)|d(?:o_|p_|w_)|iscord(?:\.com\/api\/webhooks\/|app\.com\/api\/webhooks\/)|o(?:o_v1_|p_v1_|r_v1_|se)|p\.(?:audit\.|ct\.|pt\.|s(?:a\.|cim\.|t\.))|t0(?:c01\.|s01\.)|uffel_(?:live_|test_))|e(?:2b_|yJ)|f(?:i(?:g(?:d_|o_)|o-u-)|m(?:1(?:_|a_|r_)|2_)|o1_|w_)|g(?:h(?:o_|p_|r_|s_|u_)|ithub_pat_|l(?:agent-|c(?:_|bt-)|dt-|f(?:fct-|t-)|imt-|oas-|p(?:at-|tt-)|rt-|s(?:a_|oat-)|wt-)|sk_)|h(?:c(?:a(?:ik_|lk_)|b(?:ik_|lk_))|f_|ooks\.slack\.com\/(?:services\/|triggers\/|workflows\/)|v(?:b\.|r\.|s\.))|jina_|l(?:9(?:_|k_)|in_(?:api_|oauth_)|lx-|sv2_(?:pt_|sk_))|mdb_sa_sk_|n(?:api_|f(?:b_|c_|o_|p_|u_)|pm_|sec1|tn_|vapi-)|o(?:ps_eyJ|y2)|p(?:at-(?:ap1-|eu1-|na(?:1-|2-))|csk_|h(?:s_|x_)|n(?:b_|u_)|plx-|scale_(?:oauth_|pw_|tkn_)|ul-|ypi-AgE)|r(?:8_|dme_|k_(?:live_|test_)|nd_|ubygems_)|s(?:b(?:_secret_|p_)|ecret_|gp_|h(?:a256\~|ippo_(?:live_|test_)|p(?:at_|ca_|pa_|ss_))|k(?:-(?:None-|a(?:dmin-|nt-)|lf-|or-v1-|proj-|svcacct-)|\.eyJ|_(?:live_|org_|test_))|l\.|n(?:try(?:s_|u_)|yk_(?:sat\.|uat\.))|q(?:0(?:atp-|csp-|idp-)|a_|p_|u_))|t(?:fp_|gp_v1_|k(?:-us-|\.eyJ)|skey-|vly-)|v(?:1\.0-|c(?:a_|i_|k_|p_|r_))|w(?:andb_v1_|hsec_)|x(?:a(?:i-|pp-)|keysib-|ox(?:a-|b-|c-|d-|e(?:-|\.)|o-|p-|r-|s-)|smtpsib-)|ya29\.)'::text
;

-- constraint tenant_route_plain on public.tenants is new
alter table public.tenants drop constraint if exists tenant_route_plain;
alter table public.tenants add constraint tenant_route_plain CHECK (identity.is_route(route)) not valid;
alter table public.tenants validate constraint tenant_route_plain;

-- constraint tenant_route_unique on public.tenants is new
alter table public.tenants drop constraint if exists tenant_route_unique;
-- locks: the table has a row for each tenant
alter table public.tenants add constraint tenant_route_unique UNIQUE (route);

-- trigger _500_audit on public.tenants is another
create or replace trigger _500_audit AFTER INSERT OR UPDATE ON public.tenants FOR EACH ROW EXECUTE FUNCTION administration.tg__audit_identity('tenant_id', 'name', 'is_active', 'audits_query_text', 'reads_per_minute', 'writes_per_minute', 'register_unknown_clients', 'route');

-- grants on routine identity.is_route(text) to l9_owner is new
revoke all on routine identity.is_route(text) from l9_owner;
grant EXECUTE on routine identity.is_route(text) to l9_owner;

-- grants on routine public.set_tenant_route(uuid,text) to l9_owner is new
revoke all on routine public.set_tenant_route(uuid,text) from l9_owner;
grant EXECUTE on routine public.set_tenant_route(uuid,text) to l9_owner;

-- grants on routine public.set_tenant_route(uuid,text) to l9_platform_admin is new
revoke all on routine public.set_tenant_route(uuid,text) from l9_platform_admin;
grant EXECUTE on routine public.set_tenant_route(uuid,text) to l9_platform_admin;

-- owner of routine identity.is_route(text) is new
alter routine identity.is_route(text) owner to l9_owner;

-- owner of routine public.set_tenant_route(uuid,text) is new
alter routine public.set_tenant_route(uuid,text) owner to l9_owner;

-- comment on column public.actors.is_active is another
comment on column public.actors.is_active is 'If false, its next request fails, whatever its token says.';

-- comment on column public.tenants.is_active is another
comment on column public.tenants.is_active is 'If false, no caller of it has an identity, whatever its token says.';

-- comment on column public.tenants.route is new
comment on column public.tenants.route is 'Its name in keys and host names, for a proxy. Null: it has none.';

-- comment on function identity.is_route(pg_catalog.text) is new
comment on function identity.is_route(pg_catalog.text) is 'True if a tenant can have this route.';

-- comment on function public.set_tenant_route(pg_catalog.uuid,pg_catalog.text) is new
comment on function public.set_tenant_route(pg_catalog.uuid,pg_catalog.text) is 'Gives a tenant the name by which a proxy finds its database: new API keys are l9k_<route>_…, its host is <route>.<domain>. It never changes, because keys hold it; older keys go on. For operators. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

-- comment on policy definer_updates on public.tenants is another
comment on policy definer_updates on public.tenants is 'deactivate_tenant(), reactivate_tenant(), set_query_text_audit(), set_register_unknown_clients(), set_tenant_limits() and set_tenant_route() update. Nothing deletes a tenant.';

-- row of public.secret_patterns l9-memory-key is new; its id places it before the patterns that find some keys by their length
insert into public.secret_patterns (pattern_id, name, finds, keywords, expression, verification, source) values
  ('00000000-0000-7000-8000-000000000001', 'l9-memory-key', 'API keys of l9-memory, with and without a route', '{l9_,l9k_}',
    'l9(?:k_[a-z0-9-]{1,40})?_(?=[a-z0-9_-]*[A-Z])(?=[A-Z0-9_-]*[a-z])[A-Za-z0-9_-]{43}', 'any', 'create_api_key()')
on conflict do nothing;
