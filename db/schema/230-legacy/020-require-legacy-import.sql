-- The check that an import by l9-memory migrate-legacy is running. import_legacy() and import_legacy_audit() begin
-- with it.
-- These policies and the trigger have no effect unless is_legacy_import().

create function legacy.require_legacy_import()
returns void
language plpgsql stable set search_path = ''
as $$
begin
  if not packets.is_legacy_import() then
    perform identity.raise_error('L9SCP', 'only l9_owner may import old memories, through l9-memory migrate-legacy');
  end if;
end
$$;

comment on function legacy.require_legacy_import is 'Raises L9SCP unless is_legacy_import().';
