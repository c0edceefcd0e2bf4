-- Says that an import is under way. Policies that let one insert ask is_importing(), and store_rows() writes the table.
create table transfer.imports_under_way (importing_tenant uuid primary key);
call identity.describe('transfer.imports_under_way', 'Imports under way: the row of a tenant is there only within the statement
    that imports, and lets it insert memories.
  importing_tenant: The tenant.');
call identity.keep_private('transfer.imports_under_way', functions => 'Only the import writes it, and policies read it.');

create function transfer.is_importing() returns boolean language sql stable parallel safe set search_path = ''
return exists (select from transfer.imports_under_way i where i.importing_tenant = identity.current_tenant_id());
comment on function transfer.is_importing is 'True while store_rows() runs for the caller''s tenant. No caller can make it true.';
