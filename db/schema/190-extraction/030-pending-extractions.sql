create table extraction.pending_extractions (
  packet_id uuid primary key references public.packet_store on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  given_up_at timestamptz,
  last_error text,
  constraint pending_extraction_error_is_a_name check (last_error ~ '^[A-Za-z0-9._:-]{1,100}$')
);

create index pending_extractions_due_idx on extraction.pending_extractions (next_attempt_at) where given_up_at is null;

comment on table extraction.pending_extractions is
  'Memories that wait to be read by a chat model. A row comes in the transaction of the save, and goes in that of what was found, or where the tenant does not want it any more.';
comment on column extraction.pending_extractions.attempts is 'How often no answer of use was got for it.';
comment on column extraction.pending_extractions.leased_until is 'A job works on it until then; later, another may take it.';
comment on column extraction.pending_extractions.given_up_at is 'When it failed for the last time. It stays here until it is changed or goes.';
comment on column extraction.pending_extractions.last_error is 'Name of the last error; budget: it waits for the next day. Never a text.';

alter table extraction.pending_extractions enable row level security;
alter table extraction.pending_extractions force row level security;

create policy worker_access on extraction.pending_extractions to l9_worker using (true);
create policy definer_functions on extraction.pending_extractions to l9_owner using (true);
comment on policy worker_access on extraction.pending_extractions is 'Jobs work the list off.';
comment on policy definer_functions on extraction.pending_extractions is
  'Triggers of packet_store put memories on the list; store_extraction() takes them off.';

grant select, update (attempts, next_attempt_at, leased_until, given_up_at, last_error), delete on extraction.pending_extractions to l9_worker;

create function extraction.is_wanted(settings public.extraction_settings, kind text, scope text, ttl timestamptz)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return coalesce(
  (settings).is_enabled and kind = any ((settings).kinds) and scope = any ((settings).scopes)
  and (ttl is null or ttl > pg_catalog.now()), false);

comment on function extraction.is_wanted(public.extraction_settings, text, text, timestamptz) is
  'Whether a chat model may read memories of this kind and scope, in a tenant with these settings.';

grant execute on function extraction.is_wanted(public.extraction_settings, text, text, timestamptz) to l9_worker;

create function extraction.tg_packet_store__enqueue_extraction()
returns trigger
language plpgsql
security definer
set search_path = ''
-- As for packets: what is planned for a few rows must not be kept for a thousand.
set enable_nestloop = off
as $$
begin
  insert into extraction.pending_extractions (packet_id)
  select n.packet_id
  from new_rows n join public.extraction_settings s on s.tenant_id = n.tenant_id
  where extraction.is_wanted(s, n.packet_type, n.scope, n.ttl)
  order by n.packet_id
  on conflict do nothing;
  return null;
end
$$;

comment on function extraction.tg_packet_store__enqueue_extraction() is
  'Puts new memories on the list of what is to be extracted from, where their tenant wants that. Definer: callers don''t see that list, nor the settings.';

create trigger _900_enqueue_extraction after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function extraction.tg_packet_store__enqueue_extraction();
