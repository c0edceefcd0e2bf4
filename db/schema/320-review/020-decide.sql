-- Decides about one memory that waits for a review, with all that follows. The operations of reviewers call decide().

create type review.decision as (status text, memory public.packet_store);
comment on type review.decision is 'What became of a memory that was decided about: approved, rejected, pending, or merged into '
  'the memory, which counted already and is the same.';

create function review.find_counting(held public.packet_store) returns public.packet_store
language sql stable set search_path = ''
begin atomic
  select p.* from public.packet_store p
  where p.identity_hash = (held).identity_hash
    and p.tenant_id is not distinct from (held).tenant_id and p.scope is not distinct from (held).scope
    and p.project_id is not distinct from (held).project_id and p.branch is not distinct from (held).branch
    and p.packet_type = (held).packet_type
    and p.org_id is not distinct from (held).org_id and p.user_id is not distinct from (held).user_id
    and ((held).packet_type <> 'message' or (p.thread_id, p."timestamp", p.speaker)
      is not distinct from ((held).thread_id, (held)."timestamp", (held).speaker))
    and p.withheld_creator is null;
end;
comment on function review.find_counting is 'The memory that counts and that the unique index would not let this one stand '
  'beside.';

create function review.audit_merge(merged public.packet_store, into_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform identity.require_admin();
  perform audit.write_audit('MERGE', 'packet_store', merged.packet_id, merged.project_id, merged.scope,
    jsonb_build_object('kind', merged.packet_type, 'was_created_by', merged.metadata -> 'creator', 'into', into_id));
end $$;
comment on function review.audit_merge is 'Audits that a memory was merged into another one. Definer: callers can''t write '
  'audit_log.';

create function review.join_counting(held public.packet_store, counting public.packet_store) returns public.packet_store
language plpgsql volatile set search_path = '' as $$
declare
  rules constant jsonb := kinds.rules_of(held.packet_type, held.tenant_id);
  joined public.save_result;
begin
  if exists (select from public.packet_store p where p.part_of = held.packet_id) then
    perform identity.raise_error('L9VAL', format(
      'review_state: memory %s counts already as the same %s, so this one with its parts can''t stand beside it; '
      'reject this one, or delete that one first', counting.packet_id, held.packet_type));
  end if;
  delete from public.packet_store p where p.packet_id = held.packet_id;
  if rules is null then
    joined := duplicates.merge_into(counting, held.envelope ->> 'content', held.tags, held.parent_ids, held.ttl,
      held.importance_score, held.metadata, held.envelope);
  else
    joined := memories.update_same(counting, held, rules);
  end if;
  perform review.audit_merge(held, counting.packet_id);
  return coalesce(joined.memory, counting);
end $$;
comment on function review.join_counting is 'Joins a memory that was to be approved with the one that counts already and is the '
  'same: a new text of a kind with rules, tags and parents go over to that one.';

-- Runs with the rights of the administrator. The triggers of packet_store check and stamp the decision, audit it, and derive what
-- follows from a memory that counts.
create function review.decide(packet_id uuid, decision text, reason text default null, expected_version timestamptz default null)
returns review.decision
language plpgsql volatile set search_path = '' as $$
declare
  held public.packet_store;
  counting public.packet_store;
  decided public.packet_store;
  answer review.decision;
begin
  perform identity.require_admin();
  if (decide.decision in ('approved', 'rejected', 'pending')) is not true then
    perform identity.raise_error('L9VAL', 'decision: must be approved, rejected or pending');
  end if;
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  select p.* into held from public.packet_store p where p.packet_id = decide.packet_id for update;
  if not found then
    perform memories.raise_not_yours(decide.packet_id);
  end if;
  perform memories.check_version(held, decide.expected_version);
  answer.status := decide.decision;
  answer.memory := held;
  if held.review_state is null then
    perform identity.raise_error('L9VAL', format('memory %s needs no review: it counts already', held.packet_id), 'packet_ids');
  elsif held.review_state = decide.decision then
    return answer;
  end if;
  if decide.decision = 'approved' and held.withheld_creator is not null then
    counting := review.find_counting(held);
    if counting.packet_id is not null then
      answer.status := 'merged';
      answer.memory := review.join_counting(held, counting);
      return answer;
    end if;
  end if;
  update public.packet_store p set review_state = decide.decision, review_reason = decide.reason
  where p.packet_id = decide.packet_id returning p.* into decided;
  answer.memory := decided;
  return answer;
exception when unique_violation then
  raise exception using errcode = '40001', message = 'the same memory was saved meanwhile; try again';
end $$;
comment on function review.decide is 'Approves or rejects one memory, or puts it back to pending, for an administrator who may '
  'write in its scope and project. Where the same memory counts already, an approval merges it into that one. reason: required '
  'to reject. Errors: L9OWN, L9VER, L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function review.audit_merge, review.find_counting, review.join_counting, review.decide to l9_admin;
