-- Policies and a trigger of packet_store that replace those of every other write while an import runs, so that old
-- memories keep their writers and times.

create policy definer_legacy_reads on public.packet_store for select to l9_owner
  using ((select packets.is_legacy_import()));
create policy definer_legacy_imports on public.packet_store for insert to l9_owner
  with check ((select packets.is_legacy_import()));
create policy definer_legacy_merges on public.packet_store for update to l9_owner
  using ((select packets.is_legacy_import()));
comment on policy definer_legacy_reads on public.packet_store is
  'While l9_owner imports old memories, it searches for duplicates and compares what it imported.';
comment on policy definer_legacy_imports on public.packet_store is
  'While l9_owner imports old memories, it inserts them; tg_packet_store__check_legacy checks them.';
comment on policy definer_legacy_merges on public.packet_store is
  'While l9_owner imports old memories, an existing memory takes the longer life, the higher importance and the '
  'tags of its duplicate.';

create function legacy.tg_packet_store__check_legacy()
returns trigger
language plpgsql set search_path = ''
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
    perform identity.raise_error('L9VAL', 'scope: must be a scope of the tenant', 'scope');
  elsif has_projects <> (new.project_id is not null) then
    perform identity.raise_error('L9VAL', 'project_id: required in a scope with projects, and not allowed in others', 'project_id');
  end if;
  return new;
end
$$;

comment on function legacy.tg_packet_store__check_legacy is
  'Checks an imported memory in place of the stamp and the scope check: its writer must be an actor of the tenant, '
  'and its scope and project must fit together.';

create trigger _300_check_legacy before insert or update on public.packet_store
  for each row when (current_user = 'l9_owner' and packets.is_legacy_import())
  execute function legacy.tg_packet_store__check_legacy();
