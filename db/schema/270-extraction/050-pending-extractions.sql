-- The queue of memories that a chat model is to read, and the trigger that fills it when memories are saved. The
-- extraction job works through it by lease_extractions().
create table extraction.pending_extractions (
  packet_id uuid primary key references public.packet_store on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  given_up_at timestamptz,
  last_error text,
  constraint pending_extraction_error_is_a_name check (tasks.is_error_name(last_error))
);
create index pending_extractions_due_idx on extraction.pending_extractions (next_attempt_at) where given_up_at is null;
comment on table extraction.pending_extractions is 'Queue of memories that a chat model has to read. A row is inserted in the '
  'transaction of the save, and deleted in the transaction that stores the answer, or when the tenant no longer wants the memory '
  'read.';
comment on column extraction.pending_extractions.attempts is 'The number of answers that were not usable.';
comment on column extraction.pending_extractions.leased_until is 'End of the lease of the job that works on this row; afterwards '
  'another job may lease it.';
comment on column extraction.pending_extractions.given_up_at is 'When the last attempt failed. The row stays until the memory is '
  'changed or deleted.';
comment on column extraction.pending_extractions.last_error is 'The name of the last error, never its text; budget: the row '
  'waits for the next day.';
call identity.keep_private('extraction.pending_extractions', jobs => 'Jobs work through the queue.',
  functions => 'Triggers of packet_store add memories; store_extraction() removes them.');
grant select, update (attempts, next_attempt_at, leased_until, given_up_at, last_error),
  delete on extraction.pending_extractions to l9_worker;

-- Inlined into the queries of both queues, which is why it sets no search_path: they keep using their indexes.
create function extraction.is_due(next_attempt_at timestamptz, leased_until timestamptz) returns boolean
language sql stable parallel safe return next_attempt_at <= now() and (leased_until is null or leased_until < now());
comment on function extraction.is_due is 'True if a row of a queue may be leased: its time has come, and no job holds a lease.';

create function extraction.max_attempts() returns integer language sql immutable parallel safe set search_path = '' return 5;
comment on function extraction.max_attempts is 'The number of unusable answers after which a job gives up.';
grant execute on function extraction.is_due, extraction.max_attempts to l9_worker;

create function extraction.is_wanted(settings public.extraction_settings, kind text, scope text, ttl timestamptz) returns boolean
language sql stable parallel safe set search_path = ''
return coalesce(
  (settings).is_enabled and kind = any ((settings).kinds) and scope = any ((settings).scopes)
  and (ttl is null or ttl > pg_catalog.now()), false);
comment on function extraction.is_wanted is 'True if a chat model may read an unexpired memory of this kind and scope.';
grant execute on function extraction.is_wanted to l9_worker;

create function extraction.tg_packet_store__enqueue_extraction() returns trigger
language plpgsql security definer set search_path = ''
-- A plan that was cached for a few rows must stay fast for a thousand.
set enable_nestloop = off as $$
begin
  if not exists (select from public.extraction_settings s where s.is_enabled) then
    return null; -- Where no model reads memories, a save pays for one lookup.
  end if;
  insert into extraction.pending_extractions (packet_id)
  select n.packet_id
  from new_rows n join public.extraction_settings s on s.tenant_id = n.tenant_id
  where n.withheld_creator is null and extraction.is_wanted(s, n.packet_type, n.scope, n.ttl)
  order by n.packet_id on conflict do nothing;
  return null;
end $$;
comment on function extraction.tg_packet_store__enqueue_extraction is 'Adds new memories to the queue if their tenant wants them '
  'read. Definer: callers can''t read the queue or the settings.';

create trigger _900_enqueue_extraction after insert on public.packet_store referencing new table as new_rows
  for each statement execute function extraction.tg_packet_store__enqueue_extraction();
