-- Makes the schema of an import anew, also after a run that was killed, with the policies by which l9_owner reads and
-- writes memories. l9-memory migrate-legacy runs these files when it begins, and drops the schema when it ends.

-- With the schema go the policies below, which call a function of it.
drop schema if exists legacy_import cascade;
create schema legacy_import;
comment on schema legacy_import is
  'The import of memories from the old memory.* tables, while l9-memory migrate-legacy runs. Nothing here is granted to '
  'anybody.';

create function legacy_import.is_legacy_import()
returns boolean
language sql stable parallel safe set search_path = ''
return current_user = 'l9_owner'
  and identity.current_role_name() = 'l9_owner'
  and coalesce(pg_catalog.current_setting('l9.legacy_import', true), '') = 'on';

comment on function legacy_import.is_legacy_import is
  'True if this statement imports old memories: it runs as l9_owner, the session''s own role is l9_owner too, and '
  'the session has set l9.legacy_import = on. A definer function called by an agent, an admin or a job also runs as '
  'l9_owner, but its session keeps the caller''s role, so the result is false for them whatever they set.';

create function legacy_import.require_legacy_import()
returns void
language plpgsql stable set search_path = ''
as $$
begin
  if not legacy_import.is_legacy_import() then
    perform identity.raise_error('L9SCP', 'only l9_owner may import old memories, through l9-memory migrate-legacy');
  end if;
end
$$;

comment on function legacy_import.require_legacy_import is 'Raises L9SCP unless is_legacy_import().';

create policy definer_legacy_reads on public.packet_store for select to l9_owner
  using ((select legacy_import.is_legacy_import()));
create policy definer_legacy_imports on public.packet_store for insert to l9_owner
  with check ((select legacy_import.is_legacy_import()));
create policy definer_legacy_merges on public.packet_store for update to l9_owner
  using ((select legacy_import.is_legacy_import()));
comment on policy definer_legacy_reads on public.packet_store is
  'While l9_owner imports old memories, it searches for duplicates and compares what it imported.';
comment on policy definer_legacy_imports on public.packet_store is
  'While l9_owner imports old memories, it inserts them.';
comment on policy definer_legacy_merges on public.packet_store is
  'While l9_owner imports old memories, an existing memory takes the longer life, the higher importance and the '
  'tags of its duplicate.';
