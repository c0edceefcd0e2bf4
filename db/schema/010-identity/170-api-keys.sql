-- Whom each API key stands for and what it is limited to. create_api_key() and revoke_api_key() write the rows;
-- current_identity() checks that the key in the claims is still valid.

create function identity.tool_sets() returns text[] language sql immutable parallel safe set search_path = ''
return array['core', 'knowledge', 'archive', 'review', 'admin'];
comment on function identity.tool_sets is 'The sets that the tools of MCP are listed by, and that an API key can be cut down to.';

create table public.api_keys (
  key_id uuid primary key default uuidv7(),
  tenant_id uuid not null references public.tenants,
  name text not null,
  caller text not null,
  org_id uuid,
  user_id uuid,
  scopes text[],
  projects text[],
  default_project text,
  tool_sets text[],
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  foreign key (tenant_id, caller) references public.actors (tenant_id, caller),
  constraint api_key_name_plain check (identity.is_display_name(name, 100)),
  constraint api_key_default_project_is_its_own check (
    identity.is_project_id(default_project)
      and (default_project is null or projects is null or default_project = any (projects))),
  constraint api_key_tool_sets_known check (tool_sets <@ identity.tool_sets()),
  constraint api_key_limits_not_empty check (scopes <> '{}' and projects <> '{}' and tool_sets <> '{}')
);

create index api_keys_caller_idx on public.api_keys (tenant_id, caller);
comment on table public.api_keys is 'MCP keys that are stored in the database: the actor that each key stands for, and the '
  'limits of the key. The keys themselves are not stored.';
comment on column public.api_keys.key_id is 'Id, the argument of revoke_api_key().';
comment on column public.api_keys.tenant_id is 'Tenant of the key''s caller.';
comment on column public.api_keys.name is 'Purpose of the key, for people.';
comment on column public.api_keys.caller is 'Actor that the key stands for.';
comment on column public.api_keys.org_id is 'Org that the key acts for, or null.';
comment on column public.api_keys.user_id is 'User that the key acts for, or null.';
comment on column public.api_keys.scopes is 'Limits the key to these scopes of its caller. Null: all of them.';
comment on column public.api_keys.projects is 'Limits the key to these projects. Null: all projects.';
comment on column public.api_keys.default_project is 'Project of what is saved with the key without naming one; null: its only '
  'project, if it has just one.';
comment on column public.api_keys.tool_sets is 'Limits the key to the tools of these sets: core, knowledge, archive, admin. '
  'Null: all tools.';
comment on column public.api_keys.created_at is 'When the key was created.';
comment on column public.api_keys.created_by is 'Caller that created the key, or db:<role>.';
comment on column public.api_keys.expires_at is 'The key is refused from this time on. Null: it does not expire.';
comment on column public.api_keys.revoked_at is 'When the key was revoked. Null: it is not revoked.';

alter table public.api_keys enable row level security, force row level security;

create policy tenant_isolation on public.api_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.api_keys as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.api_keys as restrictive to l9_agent
  using (user_id is null or user_id = (select identity.current_user_id()));
create policy scope_access on public.api_keys for select to l9_agent using (true);
create policy admin_override on public.api_keys for select to l9_admin using (true);
create policy platform_override on public.api_keys for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('api_keys')));
create policy definer_functions on public.api_keys for select to l9_owner using (true);
create policy definer_inserts on public.api_keys for insert to l9_owner with check (true);
create policy definer_updates on public.api_keys for update to l9_owner using (true);
comment on policy tenant_isolation on public.api_keys is 'A caller sees only the keys of its tenant.';
comment on policy org_isolation on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy user_visibility on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy scope_access on public.api_keys is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.api_keys is 'Admins see the keys of their tenant.';
comment on policy platform_override on public.api_keys is 'Operators see the keys of every tenant; each read is audited.';
comment on policy definer_functions on public.api_keys is 'current_identity() checks whether a key is still valid.';
comment on policy definer_inserts on public.api_keys is 'create_api_key() inserts.';
comment on policy definer_updates on public.api_keys is 'revoke_api_key() updates. Nothing deletes a key.';
grant select on public.api_keys to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the keys of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
