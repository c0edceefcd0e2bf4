-- The operation estimate_storage_cost. store_session_archive() calls it too, and keeps its answer with each new archive.
create type public.storage_cost_estimate as (bytes bigint, redundancy integer, connector text, one_off_cost numeric,
  monthly_cost numeric, currency text, price public.storage_prices, reason text, disclaimer text);
call identity.describe('public.storage_cost_estimate', 'What it would cost to store and keep some bytes.
  bytes: The size of one copy.
  redundancy: How many copies are kept.
  connector: The kind of store.
  one_off_cost: The cost of storing all copies once. Null: unknown, see reason.
  monthly_cost: The cost of keeping all copies for a month. Null: unknown, see reason.
  currency: The currency of both costs.
  price: The price that was used, with its day and price list. Null: there is none.
  reason: Why a cost is null. Null: both are known.
  disclaimer: What the estimate does not cover.');

-- A null price makes its cost null by arithmetic; the reason is put together afterwards from the prices that are missing.
create function public.estimate_storage_cost(
  bytes bigint default null, redundancy integer default null, connector text default null, pointer text default null)
returns public.storage_cost_estimate
language plpgsql volatile set search_path = '' as $$
declare
  estimate public.storage_cost_estimate;
  gigabytes numeric;
  missing text;
  archived public.session_archives;
begin
  perform identity.require_identity();
  if estimate_storage_cost.pointer is not null then
    if estimate_storage_cost.bytes is not null then
      perform identity.raise_error('L9VAL', 'pointer: give bytes or a pointer, not both');
    end if;
    select a.* into archived from public.session_archives a
    where a.content_hash = archive.hash_of(estimate_storage_cost.pointer) order by a.stored_at, a.archive_id limit 1;
    if not found then
      perform identity.raise_error('L9OWN', 'pointer: there is no such archive, or it is not yours');
    end if;
  end if;
  estimate_storage_cost.bytes := coalesce(estimate_storage_cost.bytes, archived.size);
  if estimate_storage_cost.bytes is null or estimate_storage_cost.bytes not between 0 and 1000000000000000 then
    perform identity.raise_error('L9VAL', 'bytes: must be from 0 to 10^15');
  end if;
  estimate.bytes := estimate_storage_cost.bytes;
  estimate.redundancy := coalesce(estimate_storage_cost.redundancy, archived.redundancy, 1);
  estimate.connector := coalesce(estimate_storage_cost.connector, archived.connectors[1], 'postgres');
  estimate.disclaimer :=
    'An estimate from the prices that your tenant set; it leaves out taxes, requests, minimum terms and what it costs to read.';
  if estimate.redundancy not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'redundancy: must be from 1 to 100');
  elsif estimate.connector !~ '^[a-z][a-z0-9_-]{0,62}$' then
    perform identity.raise_error('L9VAL',
      'connector: must be a lower-case word of letters, digits, _ and -, at most 63 characters');
  end if;
  perform audit.audit_read(
    'STATS', jsonb_strip_nulls(jsonb_build_object('function', 'estimate_storage_cost', 'pointer', archived.pointer)),
    archived.packet_id, archived.project_id, archived.scope);

  select p into estimate.price
  from public.storage_prices p
  where p.tenant_id = (select identity.current_tenant_id()) and p.connector = estimate.connector and p.priced_on <= current_date
  order by p.priced_on desc limit 1;
  if not found then
    estimate.price := null;
    estimate.reason := format('no price is set for the connector %s: an admin sets it with set_storage_price()',
      estimate.connector);
    return estimate;
  end if;

  gigabytes := estimate.bytes / 1000000000.0;
  estimate.currency := (estimate.price).currency;
  -- Most price lists have only one of the two; what a list does not name costs nothing.
  if coalesce((estimate.price).per_gb_once, (estimate.price).per_object_once) is not null then
    estimate.one_off_cost := trim_scale(round(estimate.redundancy * (
      gigabytes * coalesce((estimate.price).per_gb_once, 0) + coalesce((estimate.price).per_object_once, 0)), 12));
  end if;
  estimate.monthly_cost := trim_scale(round(estimate.redundancy * gigabytes * (estimate.price).per_gb_month, 12));
  missing := concat_ws(', ',
    case when estimate.monthly_cost is null then 'per_gb_month' end,
    case when estimate.one_off_cost is null then 'per_gb_once or per_object_once' end);
  if missing <> '' then
    estimate.reason := format('the price of the connector %s does not say %s', estimate.connector, missing);
  end if;
  return estimate;
end $$;
comment on function public.estimate_storage_cost is 'Estimates what it costs to store bytes (from 0 to 10^15), or those of an '
  'archive (pointer), in so many copies (redundancy, 1 to 100) with a connector, from the newest price that the tenant set. A '
  'cost without a price is null, and reason says which; of the prices for storing once, one is enough. By default one copy in '
  'postgres, or as the archive is stored. Audited. Errors: L9VAL, L9OWN, L9AUT.';
grant execute on function public.estimate_storage_cost to l9_agent, l9_admin, l9_platform_admin;
