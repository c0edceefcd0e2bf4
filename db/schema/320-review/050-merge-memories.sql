-- The operation merge_memories: several memories that say the same become one. The others are kept as rejected, with all their
-- history, and undo_review() brings them back.

create type public.merge_result as (memory public.packet_store, merged public.review_decision[]);
call identity.describe('public.merge_result', 'The memory that was kept, and what became of the others.
  memory: The memory that was kept, as it is now.
  merged: The others: their status is merged.');

-- Evidence goes over only within one audience, so that nothing becomes readable for somebody else.
create function review.check_merge(kept public.packet_store, other public.packet_store) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not review.is_same_audience(other, kept) then
    perform identity.raise_error('L9VAL', 'is of another scope, project, org or user than the one that is kept', 'others');
  elsif other.packet_type = 'extraction' then
    perform identity.raise_error('L9VAL', 'is an extraction, which has facts and no words of its own', 'others');
  elsif 'message' in (other.packet_type, kept.packet_type) then
    perform identity.raise_error('L9VAL', 'is a turn of a conversation, and would be missing there', 'others');
  elsif other.part_of is not null or kept.part_of is not null
    or exists (select from public.packet_store p where p.part_of in (other.packet_id, kept.packet_id)) then
    perform identity.raise_error('L9VAL', 'is a document or a section, which is not merged', 'others');
  elsif other.review_state = 'rejected' then
    perform identity.raise_error('L9VAL', 'was rejected already', 'others');
  elsif kept.withheld_creator is not null and other.withheld_creator is null then
    perform identity.raise_error('L9VAL', 'counts already, and the one that is kept does not; approve that one first', 'others');
  end if;
end $$;
comment on function review.check_merge is 'Raises L9VAL where a memory can''t be merged into another.';

create function review.merge_one(other_id uuid, kept_id uuid) returns public.review_decision
language plpgsql volatile set search_path = '' as $$
declare
  kept public.packet_store;
  other public.packet_store;
begin
  select p.* into kept from public.packet_store p where p.packet_id = kept_id;
  select p.* into other from public.packet_store p where p.packet_id = other_id for update;
  if not found then
    perform memories.raise_not_yours(other_id);
  end if;
  perform review.check_merge(kept, other);
  if other.withheld_creator is null then
    perform review.move_to(other_id, kept_id);
  end if;
  update public.packet_store p set review_state = 'rejected', review_reason = format('merged into %s', kept_id)
  where p.packet_id = other_id;
  perform review.audit_merge(other, kept_id);
  select p.* into other from public.packet_store p where p.packet_id = other_id;
  return (other_id, 'merged', other.packet_type, other.scope, other.project_id, other.updated_at,
    kept_id)::public.review_decision;
end $$;
comment on function review.merge_one is 'Merges one memory into another.';

-- Parents that are younger than the memory that is kept can't be its parents.
create function review.take_labels(kept public.packet_store, others public.packet_store[], text text) returns public.packet_store
language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := array(select o.packet_id from unnest(others) as o);
  new_tags constant text[] := kept.tags || array(
    select distinct t.tag from unnest(others) as o, unnest(o.tags) as t (tag) where t.tag <> all (kept.tags) order by t.tag);
  new_parents constant uuid[] := kept.parent_ids || array(
    select distinct p.packet_id from unnest(others) as o, unnest(o.parent_ids) as i (id)
    join public.packet_store p on p.packet_id = i.id
    where i.id <> all (kept.parent_ids || ids || kept.packet_id) and p.withheld_creator is null
      and (p.created_at, p.packet_id) < (kept.created_at, kept.packet_id));
  new_ttl constant timestamptz := (
    select max(coalesce(o.ttl, 'infinity')) from unnest(others || kept) as o);
  new_importance constant real := (select max(o.importance_score) from unnest(others || kept) as o);
begin
  if cardinality(new_tags) > packets.max_tags() then
    perform identity.raise_error('L9LIM', format('others: their tags and those of the memory that is kept are %s together, at '
      'most %s', cardinality(new_tags), packets.max_tags()));
  elsif cardinality(new_parents) > packets.max_parents() then
    perform identity.raise_error('L9LIM', format('others: their parents and those of the memory that is kept are %s together, at '
      'most %s', cardinality(new_parents), packets.max_parents()));
  end if;
  return (public.update_memory(kept.packet_id, content => take_labels.text, tags => nullif(new_tags, '{}'),
    parent_ids => nullif(new_parents, '{}'), ttl => new_ttl, importance => new_importance)).memory;
end $$;
comment on function review.take_labels is 'Gives the memory that is kept the tags and parents of the others, the longest life '
  'and the highest estimate of importance among them, and a new text if there is one.';

-- The others make room first, so that the new text may be the text of one of them.
create function public.merge_memories(keep uuid, others uuid[], text text default null, expected_version timestamptz default null)
returns public.merge_result
language plpgsql volatile set search_path = '' as $$
declare
  me constant identity.identity := identity.require_admin();
  ids constant uuid[] := review.checked_ids(others, 'others');
  kept public.packet_store;
  given public.packet_store[];
  answer public.merge_result;
  place integer;
  state text;
  message text;
begin
  if keep is null or keep = any (ids) then
    perform identity.raise_error('L9VAL', 'keep: the id of a memory that is not among the others');
  end if;
  perform from public.packet_store p where p.packet_id = any (ids || keep) order by p.packet_id for update;
  select p.* into kept from public.packet_store p where p.packet_id = keep;
  if not found then
    perform memories.raise_not_yours(keep);
  elsif kept.review_state = 'rejected' then
    perform identity.raise_error('L9VAL', 'keep: it was rejected; approve it first');
  end if;
  perform memories.check_version(kept, expected_version);
  given := array(select p from public.packet_store p where p.packet_id = any (ids) order by p.packet_id);
  for place in 1..cardinality(ids) loop
    begin
      answer.merged := answer.merged || review.merge_one(ids[place], keep);
    exception when sqlstate 'L9VAL' or sqlstate 'L9OWN' or sqlstate 'L9SCP' then
      get stacked diagnostics state = returned_sqlstate, message = message_text;
      raise exception using errcode = state, column = 'others',
        message = format('others: item %s of %s: %s', place, cardinality(ids), message);
    end;
  end loop;
  -- A summary or what a model extracted goes with the memory that it was made from.
  if not exists (select from public.packet_store p where p.packet_id = keep) then
    perform identity.raise_error('L9VAL',
      'keep: it was made from one of the others, and would be deleted with it; keep that one instead');
  end if;
  answer.memory := review.take_labels(kept, given, identity.given_text(text));
  return answer;
end $$;
comment on function public.merge_memories is 'Makes one memory of several: what was derived from the others, their tags, '
  'parents, citations and access counts go over to keep; text replaces its text. The others are kept 30 days as rejected, and '
  'undo_review brings them back. All are of one scope, project, org and user. For administrators. Audited as MERGE. Errors: '
  'L9OWN, L9VER, L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function review.check_merge, review.merge_one, review.take_labels to l9_admin;
grant execute on function public.merge_memories to l9_agent, l9_admin;
