-- What each agent did with a memory. The roll-up job and the functions that write facts change the rows, and
-- sum_voices() adds them up in memory_signals.
create table importance.memory_voices (
  -- References the statistics, not the memory: writers of facts insert rows while others lock memories in order to delete them.
  packet_id uuid not null references public.memory_signals on delete cascade,
  agent text not null,
  vote smallint,
  read_at timestamptz,
  has_cited boolean not null default false,
  has_asserted boolean not null default false,
  has_contradicted boolean not null default false,
  primary key (packet_id, agent),
  constraint voice_votes_for_or_against check (vote in (1, -1))
) with (
  -- Leaves room in each page for HOT updates. The table has no index but its key.
  fillfactor = 70
);
call identity.describe('importance.memory_voices', 'What each agent did with a memory, one row for each memory and agent, so that
    an agent counts once however often it acts. memory_signals holds the sums.
  packet_id: The memory.
  agent: The creator name of the agent; all its tokens, keys and users share it.
  vote: Its last feedback: 1 useful, -1 useless; null if it gave none.
  read_at: When it last read the memory in full after it had found it.
  has_cited: True if it wrote a memory that has this one as a parent and that every reader of this one may read.
  has_asserted: True if it asserted a fact that the memory, written by another, states.
  has_contradicted: True if it asserted a fact that contradicts the memory.');

call identity.keep_private('importance.memory_voices',
  jobs => 'The roll-up job counts votes, readings and citations.',
  functions => 'Functions that write facts store which agents asserted or contradicted them.');

grant select, insert (packet_id, agent, vote, read_at, has_cited), update (vote, read_at, has_cited)
  on importance.memory_voices to l9_worker;
grant maintain on importance.memory_voices to l9_worker;
-- Callers have no grant: a reader of a memory need not know who voted how.

create function importance.lock_signals(packet_ids uuid[]) returns void language plpgsql volatile set search_path = '' as $$
begin
  perform from public.memory_signals s where s.packet_id = any (packet_ids) order by s.packet_id for no key update;
end $$;
comment on function importance.lock_signals is 'Locks statistics in order of ids, before sum_voices() sums changes.';

-- Adds up all voices again, so that a repeated call does no harm, and writes only rows that change.
create function importance.sum_voices(packet_ids uuid[]) returns void language sql volatile set search_path = ''
begin atomic
  with voices as (
    select v.packet_id, v.has_contradicted,
      -- The writer does not speak for its own memory.
      case when w.is_writer then least(o.voice, 0) else o.voice end as voice,
      -- Reading counts only for an agent that says nothing else.
      case when not w.is_writer and v.vote is null and not (v.has_cited or v.has_asserted or v.has_contradicted)
        then v.read_at end as read_at
    from importance.memory_voices v
    cross join lateral (select importance.voice(v.vote, v.has_cited or v.has_asserted, v.has_contradicted) as voice) o
    cross join lateral (
      select exists (
        select from public.packet_store p where p.packet_id = v.packet_id and packets.text_writer(p) = v.agent) as is_writer) w
    where v.packet_id = any (packet_ids)
  ), dated as (
    select v.*, max(v.read_at) over (partition by v.packet_id) as last_read
    from voices v
  ), summed as (
    select m.id as packet_id,
      count(*) filter (where d.voice > 0) as useful, count(*) filter (where d.voice < 0) as useless,
      coalesce(sum(importance.decayed(1, d.read_at, d.last_read)), 0) as readers, max(d.last_read) as read_at,
      count(*) filter (where d.has_contradicted) as contradictions
    from (select distinct p.id from unnest(packet_ids) as p (id)) m
    left join dated d on d.packet_id = m.id
    group by m.id
  )
  update public.memory_signals s set
    useful = n.useful, useless = n.useless, readers = n.readers, read_at = n.read_at, contradiction_count = n.contradictions
  from summed n
  where s.packet_id = n.packet_id
    and (s.useful, s.useless, s.readers, s.read_at, s.contradiction_count)
      is distinct from (n.useful, n.useless, n.readers, n.read_at, n.contradictions::integer);
end;
comment on function importance.sum_voices is 'Writes the sums of memory_voices to memory_signals, under lock_signals().';
grant execute on function importance.lock_signals, importance.sum_voices to l9_worker;
