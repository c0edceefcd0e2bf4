create function packets.is_scope_within(narrow text, wide text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return narrow = wide or (
  -- Of scopes that the caller may not read it tells nothing.
  array[narrow, wide] <@ identity.current_scopes()
  and not exists (
    select from public.actors a
    where a.tenant_id = identity.current_tenant_id()
      and ('*' = any (a.readable_scopes) or narrow = any (a.readable_scopes))
      and not ('*' = any (a.readable_scopes) or wide = any (a.readable_scopes))));

comment on function packets.is_scope_within(text, text) is
  'Whether everyone who may read scope `narrow` may read `wide`; false where the caller may not read both. Definer: reads the tenant''s actors.';

create function packets.tg_packet_store__check_parents()
returns trigger
language plpgsql
set search_path = ''
as $$
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
    -- A parent that it had may be gone since, erased, or hidden from the writer, and that must not freeze the child.
    to_check := array(select p.id from unnest(to_check) as p (id) where p.id <> all (old.parent_ids));
  end if;

  -- As the writer: a parent it can't see is a parent that is not there.
  for parent in
    select p.packet_id, p.scope, p.project_id, p.org_id, p.user_id, p."timestamp" from public.packet_store p
    where p.packet_id = any (to_check) and p.packet_id <> new.packet_id
    order by p."timestamp", p.packet_id
  loop
    found_parents := found_parents + 1;
    newest_time := parent."timestamp";
    newest_id := parent.packet_id;
    -- Else the child would show its readers the id of something they may not know of.
    if not packets.is_scope_within(new.scope, parent.scope) then
      perform identity.raise_error('L9VAL', format(
        'parent_ids: a memory in scope %s can''t rest on one in scope %s, which fewer may read', new.scope, parent.scope), 'parent_ids');
    elsif not (parent.project_id is null or parent.project_id is not distinct from new.project_id)
      or not (parent.org_id is null or parent.org_id is not distinct from new.org_id)
      or not (parent.user_id is null or parent.user_id is not distinct from new.user_id) then
      perform identity.raise_error('L9VAL',
        'parent_ids: a memory can''t rest on one of another project, org or user, which fewer may read', 'parent_ids');
    end if;
  end loop;
  if found_parents < cardinality(to_check) then
    perform identity.raise_error('L9VAL', 'parent_ids: at least one of these memories is not there', 'parent_ids');
  end if;

  -- Parents are older than children (by the time they were saved, then by id: neither ever changes), so that there can
  -- be no cycle, and none needs to be looked for through memories that the writer can't see. The id alone would not
  -- do: those that came from the old tables kept theirs, which say nothing of time.
  if (newest_time, newest_id) >= (new."timestamp", new.packet_id) then
    if tg_op = 'UPDATE' then
      perform identity.raise_error('L9VAL', 'parent_ids: a parent must be older than its child', 'parent_ids');
    end if;
    -- The clock went back since the parent was saved: the child is a moment younger all the same.
    new."timestamp" := newest_time + interval '1 microsecond';
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__check_parents() is
  'Parents must exist, be visible to the writer, older than the child, and no more private than it: so they form a DAG that tells nobody anything new.';

create trigger _400_check_parents
  before insert or update of parent_ids, scope, project_id on public.packet_store
  for each row when (cardinality(new.parent_ids) > 0)
  execute function packets.tg_packet_store__check_parents();

grant execute on function packets.is_scope_within(text, text) to l9_agent, l9_admin, l9_platform_admin;
