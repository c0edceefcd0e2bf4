-- How often words occur among the memories of one audience: of one tenant, org, user, project and scope. Rows of an audience are
-- visible to the same callers, so the sum over the audiences of a caller depends on nothing that it cannot read.
create table ranking.audiences (
  audience_id uuid primary key,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  memories bigint not null,
  sampled integer not null,
  average_length double precision not null,
  unlisted double precision not null,
  counted_at timestamptz not null default now()
);
call identity.describe('ranking.audiences', 'Unexpired memories that the same callers may read: their number and average length,
    counted by a job. audience_words holds their words.
  audience_id: packets.audience_id() of the columns that follow.
  memories: The number of memories when they were counted.
  sampled: The number of memories, the newest ones, whose words were counted.
  average_length: Average word_count of these, at least 1.
  unlisted: In how many of the sampled memories a word is assumed to occur that audience_words does not list.
  counted_at: Time of the count.');

create index audiences_tenant_idx on ranking.audiences (tenant_id, scope, project_id);

call identity.protect_like_memories('ranking.audiences', noun => 'audience', expires => false);
do $$
begin
  execute format('create policy word_search on ranking.audiences for select to l9_searcher using (%s)',
    identity.searcher_condition('audiences'));
end $$;
create policy worker_access on ranking.audiences to l9_worker using (true);
comment on policy word_search on ranking.audiences is 'A search weighs words by the audiences of its caller.';
comment on policy worker_access on ranking.audiences is 'The job that counts words writes the counts.';
grant select on ranking.audiences to l9_searcher, l9_worker;
grant insert, update, delete on ranking.audiences to l9_worker;
-- Callers have no grant: ranking.weigh_words() reads the table for them.

create table ranking.audience_words (
  audience_id uuid not null references ranking.audiences on delete cascade,
  word integer not null,
  memories integer not null,
  -- The index has what weigh_words() reads, and is no larger for it.
  primary key (audience_id, word) include (memories)
);
call identity.describe('ranking.audience_words', 'In how many of the sampled memories of an audience a word occurs. Rare words are
    not listed.
  audience_id: The audience.
  word: hashtext() of the word, so that no text of a memory stands here.
  memories: The number of sampled memories that hold the word.');

alter table ranking.audience_words enable row level security, force row level security;
create policy word_search on ranking.audience_words for select to l9_searcher using (true);
create policy worker_access on ranking.audience_words to l9_worker using (true);
comment on policy word_search on ranking.audience_words is 'ranking.weigh_words() reads the words of audiences that '
  'ranking.audiences shows it.';
comment on policy worker_access on ranking.audience_words is 'The job that counts words writes the counts.';
grant select on ranking.audience_words to l9_searcher, l9_worker;
grant insert, delete on ranking.audience_words to l9_worker;
-- Callers have no grant, because nothing but the audience says who may read a row.

create function ranking.stale_audiences()
returns table (tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text, memories bigint)
language sql stable set search_path = '' set enable_seqscan = off
begin atomic
  select c.*
  from (
    select p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, count(*) as memories
    from public.packet_store p
    where p.ttl is null or p.ttl > now() group by p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope
  ) c
  left join ranking.audiences a
    on a.audience_id = packets.audience_id(c.tenant_id, c.org_id, c.user_id, c.project_id, c.scope)
  -- Only the audience's own memories decide when it is counted again, so that the time tells nothing about others.
  where c.memories >= 100 and (a.audience_id is null or abs(c.memories - a.memories) > 0.1 * a.memories) order by c.memories desc;
end;
comment on function ranking.stale_audiences is 'Audiences of 100 memories or more that changed by a tenth since counted.';

-- The query is built as text, because the condition on the project must be `is null` or `=` for the index of newest memories.
create function ranking.count_audience(tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text, memories bigint)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off set max_parallel_workers_per_gather = 0 as $$
declare
  max_sampled constant integer := 5000;
  id constant uuid := packets.audience_id(tenant_id, org_id, user_id, project_id, scope);
  sample tsvector[];
  average_length double precision;
begin
  execute format($sql$
    select array_agg(n.words), greatest(avg(n.word_count), 1) from (
      select p.words, p.word_count from public.packet_store p
      where p.tenant_id = $1 and p.org_id is not distinct from $2 and p.user_id is not distinct from $3 and p.scope = $4
        and p.project_id %s
        and (p.ttl is null or p.ttl > now())
      order by p.packet_id desc limit %s) n$sql$,
    case when project_id is null then 'is null' else '= $5' end, max_sampled)
  into sample, average_length
  using tenant_id, org_id, user_id, scope, project_id;
  delete from ranking.audiences a where a.audience_id = id;
  if sample is null then
    return;
  end if;
  insert into ranking.audiences (
    audience_id, tenant_id, org_id, user_id, project_id, scope, memories, sampled, average_length, unlisted)
  select id, tenant_id, org_id, user_id, project_id, scope, greatest(memories, cardinality(sample)), cardinality(sample),
    average_length, greatest(2, 0.002 * cardinality(sample)) / 2;
  insert into ranking.audience_words (audience_id, word, memories)
  select id, hashtext(w.lexeme), count(*)
  from unnest(sample) as s (words) cross join unnest(s.words) as w group by hashtext(w.lexeme)
  having count(*) >= greatest(2, 0.002 * cardinality(sample));
end $$;
comment on function ranking.count_audience is 'Counts words of an audience''s newest 5,000 memories, without rare ones.';

create function ranking.count_stale_audiences(at_most integer) returns integer
language plpgsql volatile set search_path = '' as $$
declare
  stale record;
  counted integer := 0;
begin
  for stale in select s.* from ranking.stale_audiences() s limit at_most loop
    perform ranking.count_audience(stale.tenant_id, stale.org_id, stale.user_id, stale.project_id, stale.scope, stale.memories);
    counted := counted + 1;
  end loop;
  return counted;
end $$;
comment on function ranking.count_stale_audiences is 'Counts the words of changed audiences, largest first; returns how many.';
grant execute on function ranking.stale_audiences, ranking.count_audience, ranking.count_stale_audiences, packets.audience_id to
  l9_worker;
