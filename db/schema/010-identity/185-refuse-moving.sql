-- Operators administer tenants other than their own, so they are refused by triggers while a tenant moves.
create function identity.tg__refuse_moving() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  state text;
begin
  select m.state into state from identity.tenant_moves m
  where m.tenant_id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end and m.state <> 'arrived';
  if found then
    perform identity.refuse_moving(state);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
comment on function identity.tg__refuse_moving is 'Raises L9BSY for a change of a tenant that moves or has moved. Definer: the '
  'roles that change these tables cannot read tenant_moves.';

do $$
declare
  target text;
begin
  foreach target in array array['tenants', 'orgs', 'users', 'scopes', 'actors', 'api_keys'] loop
    execute format('create trigger _200_refuse_moving before insert or update or delete on public.%I
      for each row execute function identity.tg__refuse_moving()', target);
  end loop;
end $$;
