-- The check of who wrote an old memory and where it belongs, in place of the stamp and the scope check of other writes.
-- import_legacy() calls it.

create function legacy_import.check_writer_and_scope(tenant_id uuid, metadata jsonb, scope text, project_id text)
returns void
language plpgsql stable set search_path = ''
as $$
declare
  has_projects boolean;
begin
  if not exists (
    select from public.actors a
    where a.tenant_id = check_writer_and_scope.tenant_id
      and a.creator = metadata ->> 'creator' and a.source = metadata ->> 'source') then
    perform identity.raise_error('L9VAL', 'metadata: creator and source must be those of an actor of the tenant');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = check_writer_and_scope.tenant_id and s.scope = check_writer_and_scope.scope;
  if has_projects is null then
    perform identity.raise_error('L9VAL', 'scope: must be a scope of the tenant');
  elsif has_projects <> (project_id is not null) then
    perform identity.raise_error('L9VAL', 'project_id: required in a scope with projects, and not allowed in others');
  end if;
end
$$;

comment on function legacy_import.check_writer_and_scope is
  'Raises L9VAL unless the writer of an old memory is an actor of the tenant, and its scope and project fit together.';
