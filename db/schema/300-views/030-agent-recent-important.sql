-- The memories of the last 30 days that matter most, agent by agent: the view, and the function by which callers read
-- it over GraphQL and psql.
create materialized view views.mv_agent_recent_important as
select r.packet_id, r.agent_id, r.packet_type, r."timestamp", r.importance_score, r.access_count, r.combined_score, r.place,
  r.tenant_id, r.org_id, r.user_id, r.project_id, r.scope, r.ttl
from (
  select c.*, row_number() over (
    partition by c.tenant_id, c.org_id, c.user_id, c.project_id, c.scope, c.agent_id
      order by c.combined_score desc, c.packet_id desc) as place
  from (
    select i.*, views.combined_score_of_memory(i.importance_score, i."timestamp") as combined_score
    from (
      select p.packet_id, p.metadata ->> 'creator' as agent_id, p.packet_type, p."timestamp",
        importance.importance_of(p, s, now()) as importance_score, p.access_count + coalesce(s.access_count, 0) as access_count,
        p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
      from public.packet_store p
      left join public.memory_signals s on s.packet_id = p.packet_id
      where p."timestamp" > now() - interval '30 days' and (p.ttl is null or p.ttl > now())
    ) i
  ) c
) r
where r.place <= 100;
create unique index mv_agent_recent_important_key on views.mv_agent_recent_important (packet_id);
create index mv_agent_recent_important_readers_idx on views.mv_agent_recent_important (tenant_id, scope, combined_score desc);
call identity.describe('views.mv_agent_recent_important', 'The 100 memories of the last 30 days with the highest combined score of
    each agent in each tenant, org, user, project and scope: ids and numbers. agent_recent_important() reads it.
  agent_id: Agent that wrote the memory: its creator.
  access_count: How often the memory had been found or read at the last refresh.
  combined_score: Importance and recency together, from 0 to 1: views.combined_score_of_memory().
  place: Rank among the memories of its agent with the same tenant, org, user, project and scope; the first is 1.');
revoke all on views.mv_agent_recent_important from public;

create type public.important_memory as (
  agent_id text, importance_score real, access_count bigint, combined_score real, memory public.packet_store);
call identity.describe('public.important_memory', 'An important memory.
  agent_id: Agent that wrote the memory: its creator.
  importance_score: Importance at the last refresh, from 0 to 1.
  access_count: How often the memory had been found or read at the last refresh.
  combined_score: At the last refresh, from 0 to 1: 0.7 × importance + 0.3 × recency (1 at once, halved every ten days).
  memory: The memory in its current state.');

-- The view proposes ids, whose owners and scopes may be a day old; each is joined to its memory, and the present row
-- decides whether the caller may see it.
create function public.agent_recent_important(agent_id text default null, project_id text default null, k integer default 20)
returns setof public.important_memory
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  shown public.important_memory;
  ids uuid[] := '{}';
begin
  perform views.check_page(agent_recent_important.k);
  project_id := nullif(agent_recent_important.project_id, '');
  for shown in
    select v.agent_id, v.importance_score, v.access_count, v.combined_score, p
    from views.mv_agent_recent_important v
    join public.packet_store p on p.packet_id = v.packet_id
    where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
      and (agent_recent_important.agent_id is null or v.agent_id = agent_recent_important.agent_id)
      and (agent_recent_important.project_id is null or p.project_id is null or p.project_id = agent_recent_important.project_id)
      -- The current state decides. The check is needed because the owner's policies also show an admin what it may only erase.
      and identity.may_read(me, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope)
      and (p.ttl is null or p.ttl > now())
    order by v.combined_score desc, v.packet_id desc limit agent_recent_important.k
  loop
    ids := ids || (shown.memory).packet_id;
    return next shown;
  end loop;
  perform views.audit_read_of_view('agent_recent_important', 'packet_store', agent_recent_important.project_id, cardinality(ids),
    ids);
end $$;
comment on function public.agent_recent_important is 'The memories of the last 30 days that the caller may read and that matter '
  'most, by combined_score at the last refresh. agent_id: creator name of one agent; null for all agents. k: from 1 to 500. '
  'Writes a READ audit row. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; the function '
  'applies the caller''s claims.';
grant execute on function public.agent_recent_important to l9_agent, l9_admin;
