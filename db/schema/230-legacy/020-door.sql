-- The door's own rules. Without is_legacy_import() these policies and the trigger are as if they were not there.

create function legacy.require_legacy_import()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not packets.is_legacy_import() then
    perform identity.raise_error('L9SCP', 'old memories are moved in by l9_owner alone, through l9-memory migrate-legacy');
  end if;
end
$$;

comment on function legacy.require_legacy_import() is 'L9SCP unless is_legacy_import().';

create policy definer_legacy_reads on public.packet_store for select to l9_owner
  using ((select packets.is_legacy_import()));
create policy definer_legacy_imports on public.packet_store for insert to l9_owner
  with check ((select packets.is_legacy_import()));
create policy definer_legacy_merges on public.packet_store for update to l9_owner
  using ((select packets.is_legacy_import()));
comment on policy definer_legacy_reads on public.packet_store is
  'While old memories are moved in by l9_owner itself: it looks for duplicates, and compares what it moved.';
comment on policy definer_legacy_imports on public.packet_store is
  'While old memories are moved in by l9_owner itself; tg_packet_store__check_legacy holds what else is asked of them.';
comment on policy definer_legacy_merges on public.packet_store is
  'While old memories are moved in by l9_owner itself: a memory takes the longer life, importance and tags of its duplicate.';

create function legacy.tg_packet_store__check_legacy()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  has_projects boolean;
begin
  if not exists (
    select from public.actors a
    where a.tenant_id = new.tenant_id and a.creator = new.metadata ->> 'creator' and a.source = new.metadata ->> 'source') then
    perform identity.raise_error('L9VAL', 'metadata: creator and source must be those of an actor of the tenant', 'metadata');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = new.tenant_id and s.scope = new.scope;
  if has_projects is null then
    perform identity.raise_error('L9VAL', 'scope: not a scope of the tenant', 'scope');
  elsif has_projects <> (new.project_id is not null) then
    perform identity.raise_error('L9VAL', 'project_id: required in a scope with projects, and only there', 'project_id');
  end if;
  return new;
end
$$;

comment on function legacy.tg_packet_store__check_legacy() is
  'What must hold of an old memory instead of the stamp and the scope check: its writer is an actor of the tenant, its scope and project fit together.';

create trigger _300_check_legacy before insert or update on public.packet_store
  for each row when (current_user = 'l9_owner' and packets.is_legacy_import())
  execute function legacy.tg_packet_store__check_legacy();
