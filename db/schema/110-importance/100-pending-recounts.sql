-- The queue of memories whose voices must be counted again. Triggers of feedback and of packet_store fill it, and the
-- roll-up job works through it.
create table importance.pending_recounts (
  -- Not the memory: two writers that cite one memory must not wait for each other.
  recount_id bigint generated always as identity primary key,
  -- No foreign key: rows are inserted while memories are being deleted.
  packet_id uuid not null,
  queued_at timestamptz not null default clock_timestamp()
);
call identity.describe('importance.pending_recounts', 'Queue of memories whose voices must be counted again, because a memory that
    cites them was written, changed or deleted, or feedback was deleted.
  recount_id: The order of the queue.
  packet_id: The memory, which may have been deleted since.
  queued_at: When the row was queued.');

call identity.keep_private('importance.pending_recounts',
  jobs => 'The roll-up job works through the queue.',
  functions => 'Triggers insert memories into the queue.');

grant select, delete on importance.pending_recounts to l9_worker;

create function importance.tg_memory_feedback__recount() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into importance.pending_recounts (packet_id) select distinct o.packet_id from old_rows o;
  return null;
end $$;
comment on function importance.tg_memory_feedback__recount is 'Queues the memories on which feedback was deleted, so that an '
  'erased vote stops counting. Definer: callers can''t write the queue.';

create trigger _900_recount after delete on public.memory_feedback referencing old table as old_rows
  for each statement execute function importance.tg_memory_feedback__recount();
