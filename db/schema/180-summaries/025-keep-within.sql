create function summaries.delete_summaries(summary_packets uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if coalesce(cardinality(summary_packets), 0) = 0 then
    return;
  end if;
  insert into summaries.summaries_being_deleted (summary_packet) select distinct s.id from unnest(summary_packets) as s (id)
  on conflict do nothing;
  delete from public.packet_store p where p.packet_id = any (summary_packets);
  delete from summaries.summaries_being_deleted d where d.summary_packet = any (summary_packets);
end
$$;

comment on function summaries.delete_summaries(uuid[]) is
  'Deletes summaries, whoever may see them. Not executable by callers: triggers of the owner call it for those that rest on what went or moved.';

create function summaries.tg_memory_summary_sources__lost()
returns trigger
language plpgsql
security definer
set search_path = ''
set enable_nestloop = off
as $$
begin
  -- Those whose own memory went are not there any more, and are passed over.
  perform summaries.delete_summaries(array(select distinct o.summary_packet from old_rows o));
  return null;
end
$$;

comment on function summaries.tg_memory_summary_sources__lost() is
  'A summary does not outlive what it rests on: deleted with the first of its sources. Definer: deletes also what the caller does not see.';

create trigger _600_lost after delete on public.memory_summary_sources
  referencing old table as old_rows
  for each statement execute function summaries.tg_memory_summary_sources__lost();

create function summaries.tg_packet_store__summaries_within()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  sources uuid[] := array(
    select l.packet_id from public.memory_summary_sources l where l.summary_packet = new.packet_id);
begin
  -- The memory of a summary: it goes nowhere where one of its sources could not be read.
  if cardinality(sources) > 0 and summaries.is_audience_within(new, summaries.audience_of_sources(sources)) is not true then
    perform identity.raise_error('L9VAL',
      'scope: a summary stays with those who may read, and as long as they may read, all that it rests on', 'scope');
  end if;
  perform summaries.delete_summaries(array(
    select l.summary_packet from public.memory_summary_sources l where l.packet_id = new.packet_id));
  return null;
end
$$;

comment on function summaries.tg_packet_store__summaries_within() is
  'A memory that moves, or is to expire at another time, takes the summaries that rest on it with it; they are due again. Definer: deletes also what the caller does not see.';

call derived.follow_packets('_640_summaries_within', 'summaries.tg_packet_store__summaries_within');

create function summaries.tg_packet_store__summaries_stale()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  update public.memory_summary_sources l set is_changed = true, updated_at = clock_timestamp()
  where l.packet_id = new.packet_id and not l.is_changed;
  return null;
end
$$;

comment on function summaries.tg_packet_store__summaries_stale() is
  'A memory whose text changes makes the summaries that rest on it due again. Definer: also those that the caller does not see.';

create trigger _645_summaries_stale after update of envelope on public.packet_store
  for each row when (new.content_hash <> old.content_hash)
  execute function summaries.tg_packet_store__summaries_stale();
