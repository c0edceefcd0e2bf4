-- Who can call the system, in which role, scopes and limits. register_actor() writes the actors, and
-- current_identity() limits the claims of a caller by its row.
create table public.actors (
  tenant_id uuid not null references public.tenants,
  caller text not null,
  creator text not null,
  source text not null,
  agent text not null,
  role text not null,
  readable_scopes text[] not null,
  writable_scopes text[] not null,
  can_clean_up boolean not null default false,
  reads_per_minute integer not null default 30000,
  writes_per_minute integer not null default 12000,
  max_importance real,
  max_confidence double precision,
  max_lesson_confidence double precision,
  max_priority text,
  login text,
  default_project text,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  registered_by text,
  primary key (tenant_id, caller),
  constraint actor_creator_unique unique (tenant_id, creator),
  constraint actor_login_unique unique (login),
  constraint actor_default_project_plain check (identity.is_project_id(default_project)),
  constraint actor_caller_plain check (identity.is_caller_name(caller)),
  constraint actor_names_plain check (
    identity.is_display_name(creator, 100)
    and identity.is_display_name(source, 100)
    and identity.is_display_name(agent, 100)),
  constraint actor_call_limits_in_range check (
    identity.is_call_limit(reads_per_minute) and identity.is_call_limit(writes_per_minute)),
  constraint actor_bounds_in_range check (
    max_importance between 0 and 1 and max_confidence between 0 and 1 and max_lesson_confidence between 0 and 1),
  constraint actor_max_priority_known check (max_priority in ('low', 'medium', 'high', 'critical')),
  constraint actor_role_known check (role = any (identity.caller_roles())),
  -- A name that a client gives itself proves nothing.
  constraint actor_known_by_name_is_agent check (registered_by is null or role = 'l9_agent' and login is null),
  -- An actor that could write a scope without reading it could not see the duplicates of its own memories.
  constraint actor_reads_what_it_writes check ('*' = any (readable_scopes) or writable_scopes <@ readable_scopes)
);
call identity.describe('public.actors', 'The agents known to the system. The claims of a token are limited by its actor''s row:
    the effective scopes are those that are both claimed and registered here.
  tenant_id: Tenant that the actor belongs to.
  created_at: When the actor was registered.
  caller: Name that the claim `caller` of a token, or an API key, stands for, such as L or C.
  creator: Written to metadata.creator of every memory that this actor saves; the actor owns the memories that carry it. It never
    changes, and no other actor can take it.
  source: Written to metadata.source of every memory that this actor saves.
  agent: Written to metadata.agent of every memory that this actor saves.
  role: The only database role under which this caller has an identity. A session as l9_agent that claims to be L has none.
  readable_scopes: Scopes that the actor can read; {*} means every scope of the tenant.
  writable_scopes: Scopes that the actor can write; {*} means every scope of the tenant.
  can_clean_up: True if the actor can delete expired memories.
  reads_per_minute: How many reads a minute the gateway admits from each key of this actor, and from each user it acts for.
    Further ones get L9RAT.
  writes_per_minute: How many writes a minute the gateway admits from each key of this actor, and from each user it acts for.
    Further ones get L9RAT.
  max_importance: The upper bound of importance for the memories that the actor writes, from 0 to 1. A greater value counts as
    this one. Null means the default of its role: 0.5 for an agent, 1 for others.
  max_confidence: The upper bound of confidence for the facts and relations that the actor states, from 0 to 1. A greater value
    counts as this one. Null means the default of its role: 0.8 for an agent, 1 for others.
  max_lesson_confidence: The upper bound of confidence for the lessons that the actor writes, from 0 to 1. A greater value counts
    as this one. Null means the default of its role: 0.7 for an agent, 1 for others.
  max_priority: The highest priority for the lessons that the actor writes. A higher one counts as this one. Null means the
    default of its role: medium for an agent, critical for others.
  login: Database login whose sessions are always this actor, whatever claims they set. Null: none. The login l9_gateway and its
    members cannot be bound, because their claims are trusted.
  default_project: Project of what the actor saves without naming one, if neither its key, its token nor its working copy has a
    default; null: none.
  is_active: If false, its next request fails, whatever its token says.
  registered_by: Null: an administrator registered the actor. Else the actor is a client that is known only by the name that it
    gives itself: it calls with the key of this caller, and has its rights. With a key, login or rights of its own this is
    null.');

create trigger _600_active_actors after insert or update or delete on public.actors
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.actors
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.actors enable row level security, force row level security;

create policy tenant_isolation on public.actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.actors for select to l9_agent using (caller = (select identity.current_caller()));
create policy admin_override on public.actors for select to l9_admin using ((select identity.current_caller()) is not null);
create policy platform_override on public.actors for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('actors')));
create policy definer_functions on public.actors for select to l9_owner using (true);
create policy definer_inserts on public.actors for insert to l9_owner with check (true);
create policy definer_updates on public.actors for update to l9_owner using (true);
comment on policy tenant_isolation on public.actors is 'A caller sees only the actors of its tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'Admins see the actors of their tenant.';
comment on policy platform_override on public.actors is 'Operators see every actor; each read is audited.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that limits the claims.';
comment on policy definer_inserts on public.actors is 'register_actor(), register_client() and create_tenant() insert.';
comment on policy definer_updates on public.actors is 'register_actor(), create_api_key(), bind_login(), deactivate_actor() and '
  'reactivate_actor() update. Nothing deletes an actor, because its memories name it.';
grant select on public.actors to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
