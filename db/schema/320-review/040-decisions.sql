-- The operations approve_memory and reject_memory: a reviewer decides about up to 500 memories at once, all or none.

create type public.review_decision as (
  packet_id uuid, status text, kind text, scope text, project_id text, updated_at timestamptz, merged_into uuid);
call identity.describe('public.review_decision', 'What became of a memory that a reviewer decided about.
  packet_id: The memory.
  status: approved, rejected, pending, or merged: joined with another memory.
  kind: Its kind.
  scope: Its scope.
  project_id: Its project.
  updated_at: When it was last changed: its version.
  merged_into: The memory that it was joined with; null if it stands by itself.');

create function review.max_batch() returns integer language sql immutable parallel safe return 500;
comment on function review.max_batch is 'How many memories a reviewer can decide about in one call: 500.';

create function review.checked_ids(packet_ids uuid[], field text default 'packet_ids') returns uuid[]
language plpgsql immutable set search_path = '' as $$
declare
  twice uuid;
begin
  if coalesce(cardinality(packet_ids), 0) = 0 or array_position(packet_ids, null) is not null then
    perform identity.raise_error('L9VAL', format('%s: give the ids of 1 to %s memories', field, review.max_batch()), field);
  elsif cardinality(packet_ids) > review.max_batch() then
    perform identity.raise_error('L9LIM', format('%s: at most %s, got %s', field, review.max_batch(), cardinality(packet_ids)),
      field);
  end if;
  select i.id into twice from unnest(packet_ids) as i (id) group by i.id having count(*) > 1 order by i.id limit 1;
  if found then
    perform identity.raise_error('L9VAL', format('%s: memory %s is named twice', field, twice), field);
  end if;
  return packet_ids;
end $$;
comment on function review.checked_ids is 'The list of ids, or L9VAL or L9LIM if it is empty, too long, or names one twice.';

-- Rows are locked in the order of their ids, so that two reviewers can't deadlock, and decided in the order of their times, so
-- that a parent comes before its children. What another call changed while this one waited for the lock is refused, because
-- nobody has read it as it is. An error names its item and undoes all of the call.
create function review.decide_all(packet_ids uuid[], decision text, reason text, expected_version timestamptz)
returns setof public.review_decision
language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := review.checked_ids(packet_ids);
  seen constant jsonb := (
    select jsonb_object_agg(p.packet_id, p.updated_at) from public.packet_store p where p.packet_id = any (ids));
  item record;
  answer review.decision;
  state text;
  message text;
  field text;
  hint text;
  detail text;
begin
  perform from public.packet_store p where p.packet_id = any (ids) order by p.packet_id for update;
  for item in
    select i.id, i.place, p as memory
    from unnest(ids) with ordinality as i (id, place) left join public.packet_store p on p.packet_id = i.id
    order by p.created_at, p.packet_id
  loop
    begin
      perform memories.check_version(item.memory, (seen ->> item.id::text)::timestamptz);
      answer := case
        when decision = 'undone'
          or decision = 'approved' and exists (select from review.merges m where m.packet_id = item.id) then review.undo(item.id)
        else review.decide(item.id, decision, reason, expected_version) end;
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, field = column_name, hint = pg_exception_hint,
        detail = pg_exception_detail;
      if cardinality(ids) = 1 or state not like 'L9%' then
        raise;
      end if;
      raise exception using errcode = state, hint = hint, detail = detail,
        column = case when field in ('packet_id', 'review_state') then 'packet_ids' else field end,
        message = format('packet_ids: item %s of %s: %s', item.place, cardinality(ids), message);
    end;
    return next (item.id, answer.status, (answer.memory).packet_type, (answer.memory).scope, (answer.memory).project_id,
      (answer.memory).updated_at, nullif((answer.memory).packet_id, item.id))::public.review_decision;
  end loop;
end $$;
comment on function review.decide_all is 'Decides about all of these memories, in the order of their times. An error of one '
  'undoes all, and its message names the item.';

create function review.check_edit(packet_ids uuid[], expected_version timestamptz, is_edited boolean) returns void
language plpgsql immutable set search_path = '' as $$
begin
  if coalesce(cardinality(packet_ids), 0) = 1 then
    return;
  elsif is_edited then
    perform identity.raise_error('L9VAL', 'packet_ids: one memory only, where its text, title, tags or fields are changed');
  elsif expected_version is not null then
    perform identity.raise_error('L9VAL', 'expected_version: goes with one memory only');
  end if;
end $$;
comment on function review.check_edit is 'Raises L9VAL where more than one memory is to be changed, or checked for its version.';

-- The title is a field of the kind, so it is written like the other fields.
create function review.edit(
  packet_id uuid, content text, title text, tags text[], fields jsonb, expected_version timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
  read_version constant timestamptz := coalesce(expected_version, (
    select p.updated_at from public.packet_store p where p.packet_id = edit.packet_id));
  held public.packet_store;
  title_field text;
begin
  if jsonb_typeof(fields) <> 'object' then
    perform identity.raise_error('L9VAL', 'fields: must be an object');
  end if;
  select p.* into held from public.packet_store p where p.packet_id = edit.packet_id for update;
  if not found then
    perform memories.raise_not_yours(edit.packet_id);
  end if;
  perform memories.check_version(held, read_version);
  if held.review_state is null then
    perform identity.raise_error('L9VAL', format('memory %s needs no review: change it with update_memory', edit.packet_id),
      'packet_ids');
  end if;
  if title is not null then
    title_field := kinds.rules_of(held.packet_type, held.tenant_id) ->> 'title';
    if title_field is null then
      perform identity.raise_error('L9VAL', format('title: a memory of kind %s has none', held.packet_type));
    end if;
    fields := coalesce(fields, '{}') || jsonb_build_object(title_field, title);
  end if;
  perform public.update_memory(edit.packet_id, content => edit.content, tags => edit.tags, envelope => edit.fields);
end $$;
comment on function review.edit is 'Changes a memory that waits for a review, before it is approved. L9OWN, L9VER, L9VAL.';

create function public.approve_memory(
  packet_ids uuid[], text text default null, title text default null, tags text[] default null, fields jsonb default null,
  reason text default null, expected_version timestamptz default null) returns setof public.review_decision
language plpgsql volatile set search_path = '' as $$
declare
  me constant identity.identity := identity.require_admin();
  new_content constant text := identity.given_text(approve_memory.text);
  new_title constant text := identity.given_text(approve_memory.title);
  new_tags constant text[] := identity.given_list(approve_memory.tags);
  new_fields constant jsonb := nullif(approve_memory.fields, '{}');
  is_edited constant boolean := num_nonnulls(new_content, new_title, new_tags, new_fields) > 0;
begin
  perform review.check_edit(review.checked_ids(packet_ids), expected_version, is_edited);
  if is_edited then
    perform review.edit(packet_ids[1], new_content, new_title, new_tags, new_fields, expected_version);
    expected_version := null;
  end if;
  return query select d.* from review.decide_all(packet_ids, 'approved', identity.given_text(reason), expected_version) d;
end $$;
comment on function public.approve_memory is 'Makes 1 to 500 memories that wait for a review count, all or none; of one, text, '
  'title, tags and fields may be changed in the same step. Where the same memory counts already, the two are merged. Approves '
  'what was rejected, too. For administrators. Audited as APPROVE. Errors: L9OWN, L9VER, L9VAL, L9LIM, L9SCP, L9AUT.';

create function public.reject_memory(packet_ids uuid[], reason text, expected_version timestamptz default null)
returns setof public.review_decision
language plpgsql volatile set search_path = '' as $$
begin
  perform identity.require_admin();
  perform review.check_edit(review.checked_ids(packet_ids), expected_version, is_edited => false);
  if identity.given_text(reason) is null then
    perform identity.raise_error('L9VAL', 'reason: required to reject a memory; its writer reads it');
  end if;
  perform identity.check_bytes(btrim(reason), packets.max_reason_bytes(), 'reason');
  return query select d.* from review.decide_all(packet_ids, 'rejected', reason, expected_version) d;
end $$;
comment on function public.reject_memory is 'Rejects 1 to 500 memories, all or none. reason: required, at most 1000 bytes; '
  'their writers read it. They are kept 30 days for their writers and for reviewers. What was approved before is withdrawn '
  'with all that was derived from it. For administrators. Audited as REJECT. Errors: L9OWN, L9VER, L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function review.max_batch, review.checked_ids, review.decide_all, review.check_edit,
  review.edit to l9_admin;
-- Agents get a clear error.
grant execute on function public.approve_memory, public.reject_memory to l9_agent, l9_admin;

create function public.undo_review(packet_ids uuid[]) returns setof public.review_decision
language plpgsql volatile set search_path = '' as $$
begin
  perform identity.require_admin();
  return query select d.* from review.decide_all(packet_ids, 'undone', null, null) d;
end $$;
comment on function public.undo_review is 'Takes back what was decided about 1 to 500 memories, all or none: what was approved '
  'or rejected waits again; what was merged is what it was before. A text that was edited stays: memory_history has the former '
  'one. For administrators. Errors: L9OWN, L9VER, L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function public.undo_review to l9_agent, l9_admin;
