-- Computes who may read all of some memories. Whatever saves a summary takes its scope, project and expiry from here,
-- and the trigger of moved memories checks them again.
create type summaries.summary_audience as (tenant_id uuid, org_id uuid, user_id uuid, scope text, project_id text, branch text,
  ttl timestamptz, packet_count integer, coverage_start timestamptz, coverage_end timestamptz, sources_saved_until timestamptz);
comment on type summaries.summary_audience is 'Who may read all of some memories and until when, their branch, number and times.';

-- Takes the scope whose readers may read all the others, the only project, org and user that the sources name, and
-- the first expiry. The sources stay locked until the transaction ends.
create function summaries.audience_of_sources(ids uuid[]) returns summaries.summary_audience
language plpgsql volatile security definer set search_path = '' as $$
declare
  audience summaries.summary_audience;
  scopes text[];
  projects text[];
  orgs uuid[];
  users uuid[];
  tenants uuid[];
begin
  if coalesce(cardinality(ids), 0) = 0 or array_position(ids, null) is not null then
    perform identity.raise_error('L9VAL', 'source_packet_ids: required, the memories that the summary rests on');
  elsif cardinality(ids) > summaries.max_sources() then
    perform identity.raise_error('L9LIM',
      format('source_packet_ids: at most %s, got %s', summaries.max_sources(), cardinality(ids)));
  end if;
  -- The lock makes a concurrent transaction that moves a source wait, so that it then finds the summary and deletes it.
  perform from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p) order by p.packet_id for share;
  select array_agg(distinct p.tenant_id), array_agg(distinct p.scope),
    array_agg(distinct p.project_id) filter (where p.project_id is not null),
    array_agg(distinct p.org_id) filter (where p.org_id is not null),
    array_agg(distinct p.user_id) filter (where p.user_id is not null),
    case when count(p.branch) = count(*) and count(distinct p.branch) = 1 then min(p.branch) end,
    min(p.ttl), count(*), min(p."timestamp"), max(p."timestamp"), max(p.created_at)
  into tenants, scopes, projects, orgs, users, audience.branch, audience.ttl, audience.packet_count, audience.coverage_start,
    audience.coverage_end, audience.sources_saved_until
  from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p);
  if audience.packet_count < (select count(distinct i.id) from unnest(ids) as i (id)) then
    perform identity.raise_error('L9OWN', 'source_packet_ids: at least one of these memories does not exist, or is not yours');
  elsif cardinality(tenants) > 1 or cardinality(projects) > 1 or cardinality(orgs) > 1 or cardinality(users) > 1 then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: these memories belong to several projects, orgs or users, and no audience may read all of them; '
      'summarise each separately');
  end if;
  audience.tenant_id := tenants[1];
  audience.project_id := projects[1];
  audience.branch := case when audience.project_id is not null then audience.branch end;
  audience.org_id := orgs[1];
  audience.user_id := users[1];
  select s.scope into audience.scope
  from unnest(scopes) as s (scope)
  where not exists (select from unnest(scopes) as o (scope) where packets.is_scope_within(s.scope, o.scope) is not true)
    -- A scope without projects is readable in every project.
    and (audience.project_id is null or not exists (
      select from public.packet_store p where p.packet_id = any (ids) and p.scope = s.scope and p.project_id is null))
  order by s.scope limit 1;
  if not found then
    perform identity.raise_error('L9VAL', format(
      'source_packet_ids: these memories belong to scopes %s, and the readers of none of them may read all of these memories; '
      'summarise each scope separately', array_to_string(scopes, ', ')));
  end if;
  return audience;
end $$;
comment on function summaries.audience_of_sources is 'The narrowest audience of these memories: everyone in it may read all of '
  'them. Locks the memories until the end of the transaction. The caller must see them (else L9OWN); L9VAL if there is no such '
  'audience. Definer: locks memories of other writers; it sees what the caller sees.';

create function summaries.is_audience_within(memory public.packet_store, audience summaries.summary_audience) returns boolean
language sql stable parallel safe set search_path = ''
return packets.is_scope_within((memory).scope, (audience).scope)
  and (memory).tenant_id = (audience).tenant_id
  and ((audience).project_id is null or (audience).project_id is not distinct from (memory).project_id)
  and ((audience).org_id is null or (audience).org_id is not distinct from (memory).org_id)
  and ((audience).user_id is null or (audience).user_id is not distinct from (memory).user_id)
  and ((audience).ttl is null or coalesce((memory).ttl <= (audience).ttl, false));
comment on function summaries.is_audience_within is 'True if all readers of this memory may read what this audience reads.';
grant execute on function summaries.audience_of_sources to l9_agent, l9_admin, l9_worker;
