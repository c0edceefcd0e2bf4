-- How much each word of a query tells, by how rare it is among the memories that the caller may read. Searches and
-- the search for near-duplicates call weigh_words().

create type ranking.word_weights as (weights double precision[], average_length double precision, memories double precision);
comment on type ranking.word_weights is 'How much each word of a query tells: its inverse document frequency among memories that '
  'the caller may read; their average length in different words, and their number: as it was when they were last counted or, '
  'before that, at most 1,000.';

create function ranking.word_weight(memories double precision, holders double precision) returns double precision
language sql immutable parallel safe
return ln(1 + (memories - least(holders, memories) + 0.5) / (least(holders, memories) + 0.5));
comment on function ranking.word_weight is 'Inverse document frequency as BM25 has it: of a word that `holders` of so many '
  'memories hold.';

create function ranking.lexeme_query(lexeme text) returns tsquery language sql immutable parallel safe
return ('''' || pg_catalog.replace(pg_catalog.replace(lexeme, '\', '\\'), '''', '''''') || '''')::pg_catalog.tsquery;
comment on function ranking.lexeme_query is 'The query for one word as it stands in a tsvector: it is not parsed or stemmed '
  'again.';

-- Uses the counts of up to 200 audiences, the largest first; if nothing is counted yet, the newest 1,000 memories.
create function ranking.weigh_words(lexemes text[], scopes text[] default null, project_id text default null)
returns ranking.word_weights
language plpgsql stable security definer set search_path = '' set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- The plan does not depend on the words, and planning takes as long as weighing them.
set plan_cache_mode = force_generic_plan as $$
declare
  max_audiences constant integer := 200;
  max_sampled constant integer := 1000;
  my_tenant constant uuid := identity.current_tenant_id();
  -- An explicit list, because the policies are no condition of an index.
  tenants constant uuid[] := case
    when identity.current_role_name() = 'l9_platform_admin' then array(select distinct a.tenant_id from ranking.audiences a)
    else array[my_tenant] end;
  answer ranking.word_weights;
begin
  with visible as materialized (
    select a.audience_id, a.memories, a.sampled, a.average_length, a.unlisted
    from ranking.audiences a
    where a.tenant_id = any (tenants)
      and (scopes is null or a.scope = any (scopes))
      and (weigh_words.project_id is null or a.project_id = weigh_words.project_id or a.project_id is null)
    order by a.memories desc, a.audience_id limit max_audiences
  ), total as (
    select sum(v.memories)::double precision as memories,
      sum(v.memories * v.average_length order by v.audience_id) / sum(v.memories) as average_length
    from visible v
  ), weighed as (
    select q.place,
      ranking.word_weight(
        min(t.memories), sum(v.memories * coalesce(w.memories, v.unlisted) / v.sampled order by v.audience_id)) as weight
    from unnest(lexemes) with ordinality as q (lexeme, place)
    cross join total t
    cross join visible v
    left join ranking.audience_words w on w.audience_id = v.audience_id and w.word = hashtext(q.lexeme)
    group by q.place
  )
  select array_agg(w.weight order by w.place), (select t.average_length from total t), (select t.memories from total t)
  into answer.weights, answer.average_length, answer.memories from weighed w;
  if answer.weights is not null then
    return answer;
  end if;

  -- Nothing was counted yet, so the newest memories are.
  with visible as materialized (
    select p.words, p.word_count from public.packet_store p
    where p.tenant_id = my_tenant and p.withheld_creator is null and (scopes is null or p.scope = any (scopes))
      and (weigh_words.project_id is null or p.project_id = weigh_words.project_id or p.project_id is null)
    order by p."timestamp" desc, p.packet_id desc limit max_sampled
  ), total as (
    select count(*) as memories, greatest(avg(v.word_count), 1) as average_length from visible v
  ), weighed as (
    select q.place, ranking.word_weight(t.memories, greatest(
      (select count(*) from visible v where v.words operator(pg_catalog.@@) ranking.lexeme_query(q.lexeme)), 0.5)) as weight
    from unnest(lexemes) with ordinality as q (lexeme, place) cross join total t
  )
  select array_agg(w.weight order by w.place), (select t.average_length from total t), (select t.memories from total t)
  into answer.weights, answer.average_length, answer.memories from weighed w;
  return answer;
end $$;
comment on function ranking.weigh_words is 'Weights of words for the caller of a search in these scopes and this project (null: '
  'all): from the counts of the audiences that it may read or, before they are counted, from the newest memories that it may '
  'read. Definer: it reads the counts, to which callers have no grant.';
