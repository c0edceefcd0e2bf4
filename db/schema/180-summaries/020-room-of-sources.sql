create type summaries.summary_audience as (
  tenant_id uuid,
  org_id uuid,
  user_id uuid,
  scope text,
  project_id text,
  ttl timestamptz,
  packet_count integer,
  coverage_start timestamptz,
  coverage_end timestamptz
);

comment on type summaries.summary_audience is 'Who may read all of some memories, and until when; and when these were saved.';

create function summaries.audience_of_sources(ids uuid[])
returns summaries.summary_audience
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  audience_id summaries.summary_audience;
  scopes text[];
  projects text[];
  orgs uuid[];
  users uuid[];
  tenants uuid[];
begin
  if coalesce(cardinality(ids), 0) = 0 or array_position(ids, null) is not null then
    perform identity.raise_error('L9VAL', 'source_packet_ids: the memories that it rests on', 'source_packet_ids');
  elsif cardinality(ids) > 500 then
    perform identity.raise_error(
      'L9LIM', format('source_packet_ids: at most 500, got %s', cardinality(ids)), 'source_packet_ids');
  end if;
  -- Locked: whoever moves one to other readers meanwhile waits, and then finds the summary that rests on it.
  perform from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p) order by p.packet_id for share;
  select array_agg(distinct p.tenant_id), array_agg(distinct p.scope),
    array_agg(distinct p.project_id) filter (where p.project_id is not null),
    array_agg(distinct p.org_id) filter (where p.org_id is not null),
    array_agg(distinct p.user_id) filter (where p.user_id is not null),
    min(p.ttl), count(*), min(p."timestamp"), max(p."timestamp")
  into tenants, scopes, projects, orgs, users, audience_id.ttl, audience_id.packet_count, audience_id.coverage_start, audience_id.coverage_end
  from public.packet_store p
  where p.packet_id = any (ids) and derived.is_source(p);
  if audience_id.packet_count < (select count(distinct i.id) from unnest(ids) as i (id)) then
    perform identity.raise_error(
      'L9OWN', 'source_packet_ids: at least one of these memories is not there, or not yours', 'source_packet_ids');
  elsif cardinality(tenants) > 1 or cardinality(projects) > 1 or cardinality(orgs) > 1 or cardinality(users) > 1 then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: memories of several projects, orgs or users, which nobody else may read all of; make a summary of each',
      'source_packet_ids');
  end if;
  audience_id.tenant_id := tenants[1];
  audience_id.project_id := projects[1];
  audience_id.org_id := orgs[1];
  audience_id.user_id := users[1];
  select s.scope into audience_id.scope
  from unnest(scopes) as s (scope)
  where not exists (select from unnest(scopes) as o (scope) where packets.is_scope_within(s.scope, o.scope) is not true)
    -- A scope without projects is read in all of them.
    and (audience_id.project_id is null or not exists (
      select from public.packet_store p where p.packet_id = any (ids) and p.scope = s.scope and p.project_id is null))
  order by s.scope
  limit 1;
  if not found then
    perform identity.raise_error('L9VAL', format(
      'source_packet_ids: memories in scopes %s, none of which is for those alone who may read all of them; make a summary of each',
      array_to_string(scopes, ', ')), 'source_packet_ids');
  end if;
  return audience_id;
end
$$;

comment on function summaries.audience_of_sources(uuid[]) is
  'The narrowest room of these memories, which are locked until the end of the transaction: whoever is in it may read all of them. The caller must see them (else L9OWN); L9VAL where there is no such room. Definer: locks memories of other writers; it sees what the caller sees.';

create function summaries.is_audience_within(memory public.packet_store, audience_id summaries.summary_audience)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return packets.is_scope_within((memory).scope, (audience_id).scope)
  and (memory).tenant_id = (audience_id).tenant_id
  and ((audience_id).project_id is null or (audience_id).project_id is not distinct from (memory).project_id)
  and ((audience_id).org_id is null or (audience_id).org_id is not distinct from (memory).org_id)
  and ((audience_id).user_id is null or (audience_id).user_id is not distinct from (memory).user_id)
  and ((audience_id).ttl is null or coalesce((memory).ttl <= (audience_id).ttl, false));

comment on function summaries.is_audience_within(public.packet_store, summaries.summary_audience) is
  'Whether everyone who may read this memory may read all that is in the room, for as long.';

grant execute on function summaries.audience_of_sources(uuid[]) to l9_agent, l9_admin, l9_worker;
