-- Administrators set what a connector costs from a day on, over GraphQL and psql.
create function public.set_storage_price(connector text, currency text, per_gb_month numeric default null,
  per_gb_once numeric default null, per_object_once numeric default null, priced_on date default null,
  price_list text default null, tenant_id uuid default null) returns public.storage_prices
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_storage_price.tenant_id);
  saved public.storage_prices;
  field text;
begin
  if set_storage_price.connector is null or set_storage_price.connector !~ '^[a-z][a-z0-9_-]{0,62}$' then
    perform identity.raise_error('L9VAL',
      'connector: must be a lower-case word of letters, digits, _ and -, at most 63 characters');
  elsif set_storage_price.currency is null or set_storage_price.currency !~ '^[A-Z]{3,8}$' then
    perform identity.raise_error('L9VAL', 'currency: must be a code of 3 to 8 capitals, such as EUR');
  elsif set_storage_price.priced_on not between '2000-01-01' and '9999-12-31' then
    perform identity.raise_error('L9VAL', 'priced_on: must be a day from 2000-01-01 to 9999-12-31');
  end if;
  select p.name into field
  from (values
    ('per_gb_month', set_storage_price.per_gb_month),
    ('per_gb_once', set_storage_price.per_gb_once),
    ('per_object_once', set_storage_price.per_object_once)) as p (name, price)
  where p.price not between 0 and 1000000 limit 1;
  if found then
    perform identity.raise_error('L9VAL', format('%s: must be from 0 to 1000000', field));
  end if;
  perform identity.check_bytes(set_storage_price.price_list, 500, 'price_list');

  insert into public.storage_prices as p (
    tenant_id, connector, priced_on, currency, per_gb_month, per_gb_once, per_object_once, price_list, updated_at)
  values (
    admin.target_tenant_id, set_storage_price.connector, coalesce(set_storage_price.priced_on, current_date),
    set_storage_price.currency, set_storage_price.per_gb_month, set_storage_price.per_gb_once, set_storage_price.per_object_once,
    set_storage_price.price_list, clock_timestamp())
  on conflict on constraint storage_prices_pkey do update
  set currency = excluded.currency, per_gb_month = excluded.per_gb_month, per_gb_once = excluded.per_gb_once,
    per_object_once = excluded.per_object_once, price_list = excluded.price_list, updated_at = excluded.updated_at
  returning p.* into saved;
  return saved;
end $$;
comment on function public.set_storage_price is 'Sets what a connector costs from a day on (default today), in place of a price '
  'of that day. currency: a code such as EUR. per_gb_month: keeping 10^9 bytes for a month. per_gb_once, per_object_once: '
  'storing 10^9 bytes, an object. Null is unknown, 0 is free. price_list: its source. For admins with a whole token. Audited. '
  'Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: only this function writes prices.';
grant execute on function public.set_storage_price to l9_admin, l9_platform_admin;
