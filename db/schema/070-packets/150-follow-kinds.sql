-- Triggers of packet_store for memories that depend on each other by their kind: a part follows its whole, and a
-- memory that supersedes another one marks it.
create function packets.tg_packet_store__check_part() returns trigger language plpgsql set search_path = '' as $$
declare
  rules constant jsonb := kinds.rules_of(new.packet_type, new.tenant_id);
  field constant text := rules ->> 'part_of_field';
  whole public.packet_store;
begin
  if field is null then
    new.part_of := null; -- The kind has no parts any more.
    return new;
  end if;
  -- Under row-level security FOR UPDATE finds only rows that the caller may change. The lock holds back an approval.
  select p.* into whole from public.packet_store p where p.packet_id = new.part_of for no key update;
  if not found then
    perform packets.raise_if_held(new.part_of);
  end if;
  if not found or whole.packet_type is distinct from rules ->> 'part_of_kind' then
    perform identity.raise_error('L9VAL', format('%s: no %s that you may change has this id', field, rules ->> 'part_of_kind'));
  elsif (whole.scope, whole.project_id, whole.branch, whole.org_id, whole.user_id)
      is distinct from (new.scope, new.project_id, new.branch, new.org_id, new.user_id) then
    perform identity.raise_error('L9VAL',
      format('%s: %s must have the scope, project, branch and owner of its %s', field, kinds.with_article(new.packet_type),
        whole.packet_type));
  elsif (tg_op = 'INSERT' or new.envelope is distinct from old.envelope)
      and kinds.is_met(nullif(kinds.rules_of(whole.packet_type, whole.tenant_id) -> 'locked_when', 'null'), whole.envelope) then
    perform kinds.raise_locked(new.packet_type, rules, field);
  end if;
  if tg_op = 'INSERT' or new.envelope is distinct from old.envelope then
    perform packets.claim_text(whole.packet_id);
  end if;
  new.ttl := whole.ttl;
  new.archived_at := whole.archived_at;
  return new;
end $$;
comment on function packets.tg_packet_store__check_part is 'Requires that the memory of which this one is a part, such as the '
  'document of a section, can be changed by the writer, is not locked and has the same audience. The part expires and is '
  'archived with it.';

create trigger _400_check_part
  before insert or update of envelope, packet_type, scope, project_id, branch, ttl on public.packet_store
  for each row when (new.part_of is not null) execute function packets.tg_packet_store__check_part();

create function packets.tg_packet_store__keep_parts() returns trigger language plpgsql set search_path = '' as $$
declare
  whole public.packet_store;
  rules jsonb := kinds.rules_of(old.packet_type, old.tenant_id);
begin
  if tg_op = 'UPDATE' and new.part_of is not distinct from old.part_of then
    return new;
  end if;
  -- Cleanup, erasure and the deletion of the whole itself run as the owner. A kind may have no parts any more.
  if current_user <> 'l9_owner' and rules ->> 'part_of_field' is not null then
    select p.* into whole from public.packet_store p where p.packet_id = old.part_of for no key update;
    if not found then
      perform packets.raise_if_held(old.part_of);
    end if;
    perform packets.claim_text(whole.packet_id);
    if kinds.is_met(nullif(kinds.rules_of(whole.packet_type, whole.tenant_id) -> 'locked_when', 'null'), whole.envelope) then
      perform kinds.raise_locked(old.packet_type, rules, rules ->> 'part_of_field');
    end if;
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
comment on function packets.tg_packet_store__keep_parts is 'Refuses to take a part away from a memory that is locked, such as a '
  'section from an approved document: to delete it, to move it to another one, or to change its kind.';

create trigger _400_keep_parts before delete or update of envelope, packet_type on public.packet_store
  for each row when (old.part_of is not null) execute function packets.tg_packet_store__keep_parts();

create function packets.tg_packet_store__move_parts() returns trigger language plpgsql set search_path = '' as $$
begin
  update public.packet_store p set scope = new.scope, project_id = new.project_id, branch = new.branch, ttl = new.ttl
  where p.part_of = new.packet_id
    and (p.scope, p.project_id, p.branch, p.ttl, p.archived_at)
      is distinct from (new.scope, new.project_id, new.branch, new.ttl, new.archived_at);
  if new.review_state is distinct from old.review_state then
    update public.packet_store p set review_state = new.review_state, review_reason = new.review_reason
    where p.part_of = new.packet_id and p.review_state is distinct from new.review_state;
  end if;
  -- Else a part would keep readers that the whole no longer has.
  if exists (
    select from public.packet_store p
    where p.part_of = new.packet_id
      and (p.scope, p.project_id, p.branch, p.ttl) is distinct from (new.scope, new.project_id, new.branch, new.ttl)) then
    perform identity.raise_error('L9OWN',
      'scope, project_id, ttl: this memory has parts that you may not change, so they cannot move with it', 'scope');
  end if;
  return null;
end $$;
comment on function packets.tg_packet_store__move_parts is 'Moves a memory''s parts to its new scope, project, branch and ttl, '
  'and decides about them as about the whole.';

create trigger _600_move_parts after update of scope, project_id, branch, ttl, envelope, review_state on public.packet_store
  for each row when (
    (new.scope, new.project_id, new.branch, new.ttl, new.archived_at, new.review_state)
      is distinct from (old.scope, old.project_id, old.branch, old.ttl, old.archived_at, old.review_state))
  execute function packets.tg_packet_store__move_parts();

-- Locks the other memory under the policies of the writer, requires that both have the same readers, and changes its status.
create function packets.tg_packet_store__supersede() returns trigger language plpgsql set search_path = '' as $$
declare
  superseded public.packet_store;
begin
  -- It replaces nothing before it is approved.
  if packets.is_withheld(new.review_state)
    or not coalesce((kinds.rules_of(new.packet_type, new.tenant_id) ->> 'supersedes')::boolean, false)
    or tg_op = 'UPDATE' and new.envelope -> 'supersedes' is not distinct from old.envelope -> 'supersedes'
      and new.review_state is not distinct from old.review_state then
    return new;
  end if;
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  select p.* into superseded from public.packet_store p
  where p.packet_id = (new.envelope ->> 'supersedes')::uuid and p.packet_id <> new.packet_id and p.withheld_creator is null
  for no key update;
  if not found then
    perform packets.raise_if_held((new.envelope ->> 'supersedes')::uuid);
  end if;
  if superseded.packet_type is distinct from new.packet_type then
    perform identity.raise_error('L9VAL', format('supersedes: no other %s that you may change has this id', new.packet_type));
  elsif (superseded.scope, superseded.project_id, superseded.org_id, superseded.user_id)
      is distinct from (new.scope, new.project_id, new.org_id, new.user_id) then
    -- Each of the two names the other, so their readers must be the same.
    perform identity.raise_error('L9VAL',
      format('supersedes: %s can replace only one of its own scope, project and owner', kinds.with_article(new.packet_type)));
  elsif superseded.envelope ->> 'status' is distinct from 'superseded' then
    update public.packet_store p
    set envelope = p.envelope || jsonb_build_object('status', 'superseded', 'superseded_by', new.packet_id)
    where p.packet_id = superseded.packet_id;
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__supersede is 'Marks the memory that this one supersedes: status superseded, and '
  'superseded_by. The caller must be allowed to change it.';

create trigger _400_supersede before insert or update of envelope, review_state on public.packet_store
  for each row when (new.envelope ? 'supersedes') execute function packets.tg_packet_store__supersede();

create function packets.tg_packet_store__check_successor() returns trigger language plpgsql set search_path = '' as $$
begin
  -- The trigger that marks a memory as superseded names one that is just being saved.
  if pg_trigger_depth() > 1 or not coalesce((kinds.rules_of(new.packet_type, new.tenant_id) ->> 'supersedes')::boolean, false)
    or tg_op = 'UPDATE' and new.envelope -> 'superseded_by' is not distinct from old.envelope -> 'superseded_by' then
    return new;
  end if;
  -- The query runs as the writer, so one that it can't see is not found.
  if not exists (
    select from public.packet_store p
    where p.packet_id = (new.envelope ->> 'superseded_by')::uuid and p.packet_id <> new.packet_id
      and p.packet_type = new.packet_type
      and (p.scope, p.project_id, p.org_id, p.user_id)
        is not distinct from (new.scope, new.project_id, new.org_id, new.user_id)
      and (p.withheld_creator is null or packets.is_withheld(new.review_state))) then
    perform identity.raise_error('L9VAL',
      format('superseded_by: no other %s of this scope, project and owner has this id', new.packet_type));
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__check_successor is 'Requires that the memory which replaces this one exists, can be '
  'read by the writer and has the same scope, project and owner.';

create trigger _400_check_successor before insert or update of envelope on public.packet_store
  for each row when (new.envelope ? 'superseded_by') execute function packets.tg_packet_store__check_successor();
