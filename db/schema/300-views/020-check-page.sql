-- The limit of rows that one call reads from a view. The functions that list rows of the materialized views call it.
create function views.check_page(k integer) returns void language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if k is null or k not between 1 and 500 then
    perform identity.raise_error('L9LIM', 'k: must be from 1 to 500');
  end if;
end $$;
comment on function views.check_page is 'Raises L9LIM unless k is from 1 to 500.';
