create materialized view views.mv_agent_recent_important as
select r.packet_id, r.agent_id, r.packet_type, r."timestamp", r.importance_score, r.place, r.tenant_id, r.org_id, r.user_id, r.project_id,
  r.scope, r.ttl
from (
  select i.*, row_number() over (
    partition by i.tenant_id, i.org_id, i.user_id, i.project_id, i.scope, i.agent_id order by i.importance_score desc, i.packet_id desc) as place
  from (
    select p.packet_id, p.metadata ->> 'creator' as agent_id, p.packet_type, p."timestamp",
      importance.importance_of(p, s, now()) as importance_score, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
    from public.packet_store p
    left join public.memory_signals s on s.packet_id = p.packet_id
    where p."timestamp" > now() - interval '30 days' and (p.ttl is null or p.ttl > now())
  ) i
) r
where r.place <= 100;

create unique index mv_agent_recent_important_key on views.mv_agent_recent_important (packet_id);
create index mv_agent_recent_important_readers_idx on views.mv_agent_recent_important (tenant_id, scope, importance_score desc);
comment on materialized view views.mv_agent_recent_important is
  'Of each agent, in each tenant, org, user, project and scope, the 100 most important memories of the last 30 days: ids and numbers. Read by agent_recent_important().';
comment on column views.mv_agent_recent_important.packet_id is 'The memory.';
comment on column views.mv_agent_recent_important.agent_id is 'Who wrote it: its creator.';
comment on column views.mv_agent_recent_important.packet_type is 'Its kind.';
comment on column views.mv_agent_recent_important."timestamp" is 'When it was saved.';
comment on column views.mv_agent_recent_important.importance_score is 'How much it mattered, from 0 to 1.';
comment on column views.mv_agent_recent_important.place is 'Its place among those of its agent in its room; the first is 1.';
comment on column views.mv_agent_recent_important.tenant_id is 'Whose it is.';
comment on column views.mv_agent_recent_important.org_id is 'Whose it is; null: the whole tenants.';
comment on column views.mv_agent_recent_important.user_id is 'Whose it is; null: the whole orgs.';
comment on column views.mv_agent_recent_important.project_id is 'As of the row at the last refresh.';
comment on column views.mv_agent_recent_important.scope is 'What decided who sees it at the last refresh; that of the row decides.';
comment on column views.mv_agent_recent_important.ttl is 'From when on nobody reads it, as of the last refresh; that of the row decides.';
revoke all on views.mv_agent_recent_important from public;

create type public.important_memory as (agent_id text, importance_score real, memory public.packet_store);
comment on type public.important_memory is 'A memory that matters.';
comment on column public.important_memory.agent_id is 'Who wrote it: its creator.';
comment on column public.important_memory.importance_score is 'How much it mattered at the last refresh, from 0 to 1.';
comment on column public.important_memory.memory is 'The memory, as it is now.';

create function public.agent_recent_important(agent_id text default null, project_id text default null, k integer default 20)
returns setof public.important_memory
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
begin
  perform views.check_page(agent_recent_important.k);
  return query
  select v.agent_id, v.importance_score, p
  from views.mv_agent_recent_important v
  join public.packet_store p on p.packet_id = v.packet_id
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
    and (agent_recent_important.agent_id is null or v.agent_id = agent_recent_important.agent_id)
    and (agent_recent_important.project_id is null or p.project_id is null or p.project_id = agent_recent_important.project_id)
    -- As it is now. The owner's policies show an admin more than that: what it may erase.
    and identity.may_read(me, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope)
    and (p.ttl is null or p.ttl > now())
  order by v.importance_score desc, v.packet_id desc
  limit agent_recent_important.k;
end
$$;

comment on function public.agent_recent_important(text, text, integer) is
  'The most important memories of the last 30 days that the caller may read, as of the last refresh, of all agents or one (agent_id: its creator name). k: 1 to 500 at most. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which knows no policies; the claims are applied here.';

grant execute on function public.agent_recent_important(text, text, integer) to l9_agent, l9_admin;
