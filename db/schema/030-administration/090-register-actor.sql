-- Registers an actor or changes one. Admins call it in psql or GraphQL, and `l9-memory db platform-admin` for the
-- first operator. The row as it should be is put together first, then checked as a whole, then written.
create function public.register_actor(
  caller text, creator text default null, source text default null, agent text default null, role text default null,
  readable_scopes text[] default null, writable_scopes text[] default null, can_clean_up boolean default null,
  reads_per_minute integer default null, writes_per_minute integer default null, tenant_id uuid default null,
  default_project text default null, max_importance real default null, max_confidence double precision default null,
  max_lesson_confidence double precision default null, max_priority text default null) returns public.actors
language plpgsql volatile security definer set search_path = '' as $$
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
end $$;
comment on function public.register_actor is 'Registers an actor, by default one like C, or changes the given properties of one, '
  'but never its creator. An empty default_project removes it. max_*: upper bounds of what it gives to its own text. '
  '*_per_minute: limits of each of its keys. Nobody grants more than it has, or changes its own actor. For admins. Errors: '
  'L9VAL, L9SCP, L9IMM, L9AUT. Definer: identity tables change through functions only.';
grant execute on function public.register_actor to l9_admin, l9_platform_admin;
