-- What a memory stated goes with it; what others stated too stays, and is what they stated.

create function graph.tg_packet_store__leave_graph()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = old.packet_id);
begin
  if ids <> '{}' then
    -- Before the foreign key does it, which would not work out anew what others state too.
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e where e.packet_id = old.packet_id;
    perform graph.recompute_relationships(ids);
  end if;
  return old;
end
$$;

comment on function graph.tg_packet_store__leave_graph() is
  'Takes a memory that is deleted out of the evidence of relations, and works these out again. Definer: callers can''t write these tables.';

create trigger _620_leave_graph before delete on public.packet_store
  for each row execute function graph.tg_packet_store__leave_graph();

create function graph.tg_packet_store__graph_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  had constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = new.packet_id);
  has_moved constant boolean := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope)
    <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  stated record;
  there uuid;
  joined uuid[] := '{}';
begin
  if had = '{}' then
    return null;
  end if;
  perform graph.lock_relationships(had);
  if has_moved and new.ttl <= now() then
    -- Nobody reads it any more, wherever it is.
    delete from public.relationship_evidence e where e.packet_id = new.packet_id;
  elsif has_moved then
    for stated in
      select e.evidence_id, e.source_entity, e.target_entity, r.source_normalized, r.relationship_type, r.target_normalized, r.confidence
      from public.relationship_evidence e join public.entity_relationships r on r.relationship_id = e.relationship_id
      where e.packet_id = new.packet_id
      order by r.source_normalized, r.relationship_type, r.target_normalized
    loop
      insert into public.entity_relationships as r (
        source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet)
      values (
        stated.source_entity, stated.relationship_type, stated.target_entity, stated.source_normalized, stated.target_normalized,
        0, new.packet_id)
      on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
      do update set relationship_id = r.relationship_id
      returning r.relationship_id into there;
      update public.relationship_evidence e
      set relationship_id = there, tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id,
        project_id = new.project_id, scope = new.scope, ttl = new.ttl, updated_at = clock_timestamp()
      where e.evidence_id = stated.evidence_id;
      joined := joined || there;
    end loop;
  else
    update public.relationship_evidence e set ttl = new.ttl, updated_at = clock_timestamp() where e.packet_id = new.packet_id;
  end if;
  perform graph.recompute_relationships(had || joined);
  return null;
end
$$;

comment on function graph.tg_packet_store__graph_follow() is
  'Takes what a memory states to where the memory has moved, joins it there with what others state, and works out anew what is left behind. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_graph_follow', 'graph.tg_packet_store__graph_follow');
