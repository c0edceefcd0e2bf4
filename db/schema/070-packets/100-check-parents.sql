-- The trigger _400_check_parents of packet_store: parents must exist, be older, and be readable by all who may read the child.
create function packets.is_scope_within(narrow text, wide text) returns boolean
language sql stable parallel safe security definer set search_path = ''
return narrow = wide or (
  -- Nothing is revealed about scopes that the caller may not read.
  array[narrow, wide] <@ identity.current_scopes()
  and not exists (
    select from public.actors a
    where a.tenant_id = identity.current_tenant_id()
      and ('*' = any (a.readable_scopes) or narrow = any (a.readable_scopes))
      and not ('*' = any (a.readable_scopes) or wide = any (a.readable_scopes))));
comment on function packets.is_scope_within is 'True if everyone who may read scope `narrow` may also read `wide`; false if the '
  'caller may not read both. Definer: reads the tenant''s actors.';

-- Looks up, under the policies of the writer, the parents that are new, or all of them if scope or project change.
create function packets.tg_packet_store__check_parents() returns trigger language plpgsql set search_path = '' as $$
declare
  parent record;
  to_check uuid[];
  found_parents integer := 0;
  newest_time timestamptz;
  newest_id uuid;
begin
  new.parent_ids := array(select distinct p.id from unnest(new.parent_ids) as p (id) where p.id is not null order by p.id);
  to_check := new.parent_ids;
  if tg_op = 'UPDATE' and new.scope = old.scope and new.project_id is not distinct from old.project_id then
    -- Parents the memory already had may since be deleted or hidden from the writer, and must not block other updates.
    to_check := array(select p.id from unnest(to_check) as p (id) where p.id <> all (old.parent_ids));
  end if;

  -- The query runs as the writer, so a parent that it can't see is not found.
  for parent in
    select p.packet_id, p.scope, p.project_id, p.org_id, p.user_id, p.created_at, p.withheld_creator
    from public.packet_store p
    where p.packet_id = any (to_check) and p.packet_id <> new.packet_id order by p.created_at, p.packet_id
  loop
    found_parents := found_parents + 1;
    newest_time := parent.created_at;
    newest_id := parent.packet_id;
    -- Otherwise the child would reveal the id of a memory that its readers may not know.
    if parent.withheld_creator is not null and not packets.is_withheld(new.review_state) then
      perform identity.raise_error('L9VAL', format(
        'parent_ids: memory %s waits for a review, or was rejected; it has no children that count', parent.packet_id));
    elsif not packets.is_scope_within(new.scope, parent.scope) then
      perform identity.raise_error('L9VAL', format(
        'parent_ids: a memory in scope %s can''t have a parent in scope %s, which fewer callers may read',
        new.scope, parent.scope));
    elsif not (parent.project_id is null or parent.project_id is not distinct from new.project_id)
      or not (parent.org_id is null or parent.org_id is not distinct from new.org_id)
      or not (parent.user_id is null or parent.user_id is not distinct from new.user_id) then
      perform identity.raise_error('L9VAL',
        'parent_ids: a memory can''t have a parent of another project, org or user, which fewer callers may read');
    end if;
  end loop;
  if found_parents < cardinality(to_check) then
    perform identity.raise_error('L9VAL', 'parent_ids: at least one of these memories was not found');
  end if;

  -- Parents are older than children (by time of saving, then by id, which never change), so cycles are impossible and
  -- need no search through memories that the writer can't see. Ids alone would not do, because imported memories kept
  -- ids that say nothing of time.
  if (newest_time, newest_id) >= (new.created_at, new.packet_id) then
    if tg_op = 'UPDATE' then
      perform identity.raise_error('L9VAL', 'parent_ids: a parent must be older than its child');
    end if;
    -- The clock went back since the parent was saved, so date the child a microsecond after the parent.
    new.created_at := newest_time + interval '1 microsecond';
    new.updated_at := greatest(new.updated_at, new.created_at);
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__check_parents is 'Requires that parents exist, are visible to the writer, are older '
  'than the child and are readable by everyone who may read the child. So parents form a DAG and reveal nothing new to any '
  'reader.';
grant execute on function packets.is_scope_within to l9_agent, l9_admin, l9_platform_admin;
