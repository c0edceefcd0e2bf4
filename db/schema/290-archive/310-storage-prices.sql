-- What storage costs a tenant, by connector and day. set_storage_price() writes it; estimate_storage_cost() multiplies by it.
create table public.storage_prices (
  tenant_id uuid not null references public.tenants,
  connector text not null,
  priced_on date not null,
  currency text not null,
  per_gb_month numeric,
  per_gb_once numeric,
  per_object_once numeric,
  price_list text,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, connector, priced_on),
  constraint storage_price_connector_plain check (connector ~ '^[a-z][a-z0-9_-]{0,62}$'),
  constraint storage_price_currency_code check (currency ~ '^[A-Z]{3,8}$'),
  constraint storage_price_from_0_to_a_million check (
    (per_gb_month is null or per_gb_month between 0 and 1000000)
    and (per_gb_once is null or per_gb_once between 0 and 1000000)
    and (per_object_once is null or per_object_once between 0 and 1000000)),
  constraint storage_price_list_at_most_500_bytes check (octet_length(price_list) <= 500)
);
call identity.describe('public.storage_prices', 'What storage costs a tenant, by connector and day. The newest row of a connector
    that is not in the future is its price. None is built in. set_storage_price() writes this table.
  tenant_id: The tenant that pays the price.
  connector: The kind of store: postgres, file, s3, http, or a name of the tenant''s own.
  priced_on: The day from which the price holds.
  currency: The code of the currency, such as EUR, USD or LUME.
  per_gb_month: The price of keeping 10^9 bytes for a month. Null: unknown.
  per_gb_once: The price of storing 10^9 bytes once, such as transfer. Null: none, if per_object_once is set.
  per_object_once: The price of storing one object, whatever its size. Null: none, if per_gb_once is set.
  price_list: Where the price is from, such as the address of a page.
  updated_at: When the row was last changed.');
call identity.protect_tenant_rows('public.storage_prices', readers => 'Every caller in the tenant may read what storage costs.',
  writers => 'set_storage_price() writes prices.');
grant select on public.storage_prices to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_storage_price() checks the values and writes the audit row.

create trigger _500_audit after insert or update on public.storage_prices
  for each row execute function administration.tg__audit_identity(
    '', 'connector', 'priced_on', 'currency', 'per_gb_month', 'per_gb_once', 'per_object_once', 'price_list');

call secrets.guard_table('public.storage_prices', '{connector,currency}');
