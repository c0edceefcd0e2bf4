-- The operation undo_review: a reviewer takes back what was decided. Each decision made a version, so the text before an edit
-- is in memory_history().

create function review.ttl_before(memory public.packet_store) returns timestamptz language sql stable set search_path = ''
return (
  select v.ttl from public.packet_versions v
  where v.packet_id = (memory).packet_id and v.review_state is distinct from 'rejected'
  order by v.version_id desc limit 1);
comment on function review.ttl_before is 'When a rejected memory expired before it was rejected.';

-- A merged memory counts before what went over is given back to it, because what is withheld states nothing.
create function review.undo(packet_id uuid) returns review.decision
language plpgsql volatile set search_path = '' as $$
declare
  decided public.packet_store;
  counting public.packet_store;
  answer review.decision;
  is_merged boolean;
begin
  select p.* into decided from public.packet_store p where p.packet_id = undo.packet_id for update;
  if not found then
    perform memories.raise_not_yours(undo.packet_id);
  elsif decided.review_state = 'pending' then
    perform identity.raise_error('L9VAL', format('memory %s waits for a review, so there is nothing to undo', undo.packet_id),
      'packet_ids');
  end if;
  is_merged := decided.withheld_creator is not null
    and exists (select from review.merges m where m.packet_id = undo.packet_id);
  if is_merged then
    counting := review.find_counting(decided);
    if counting.packet_id is not null then
      perform identity.raise_error('L9VAL', format('memory %s says the same by now; change that one first', counting.packet_id),
        'packet_ids');
    end if;
    answer := review.decide(undo.packet_id, 'approved');
    perform review.move_back(undo.packet_id);
  else
    answer := review.decide(undo.packet_id, 'pending');
  end if;
  if decided.review_state = 'rejected' then
    update public.packet_store p set ttl = review.ttl_before(decided)
    where p.packet_id = undo.packet_id and p.ttl is distinct from review.ttl_before(decided)
    returning p.* into decided;
    answer.memory := case when found then decided else answer.memory end;
  end if;
  return answer;
end $$;
comment on function review.undo is 'Puts a memory that was approved or rejected back among those that wait. One that was '
  'merged is what it was before, with what went over to the other memory.';

grant execute on function review.ttl_before, review.undo to l9_admin;
