-- The trigger _375_review of packet_store: what a rule says needs a review is withheld until an administrator decides, whoever
-- saves it and by whatever road. Administrators decide by setting review_state.

create function packets.rejected_for() returns interval language sql immutable parallel safe return interval '30 days';
comment on function packets.rejected_for is 'How long a rejected memory is kept.';

-- Runs as the writer, who sees its own rejected memories, also where a search would hide them.
create function packets.find_rejected(memory public.packet_store) returns setof public.packet_store
language sql stable set search_path = '' set l9.withheld = 'pending,rejected'
begin atomic
  select p.* from public.packet_store p
  where p.review_state = 'rejected' and p.tenant_id = (memory).tenant_id and p.content_hash = (memory).content_hash
    and p.withheld_creator = (memory).metadata ->> 'creator'
    and p.org_id is not distinct from (memory).org_id and p.user_id is not distinct from (memory).user_id
    and p.packet_id <> (memory).packet_id
  order by p.reviewed_at desc, p.packet_id desc limit 1;
end;
comment on function packets.find_rejected is 'The memory of this text and creator that was rejected and has not expired, in '
  'whatever place and of whatever kind.';

create function packets.refuse_rejected(rejected public.packet_store) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if rejected.review_state = 'rejected' and not exists (
    select from public.review_settings s where s.tenant_id = rejected.tenant_id and s.rejected_again = 'hold') then
    perform identity.raise_error('L9VAL', format(
      'content: memory %s says the same and was rejected; read its review_reason, and save another text', rejected.packet_id));
  end if;
end $$;
comment on function packets.refuse_rejected is 'Raises L9VAL for a memory that was rejected and is saved again, unless the '
  'tenant holds such texts. Definer: jobs can''t read the settings.';

create function packets.awaits_review(memory public.packet_store) returns boolean
language sql stable set search_path = ''
return packets.needs_review((memory).tenant_id, coalesce(identity.current_caller(), 'job'), (memory).scope, (memory).project_id,
  (memory).packet_type, coalesce((identity.current_identity()).source, (memory).metadata ->> 'source'));
comment on function packets.awaits_review is 'True if this caller, or a job, can save a memory like this one only for a review.';

-- What counts is shared by then, so that an edit must neither count without a review nor hide the memory from all.
create function packets.refuse_unreviewed_edit(memory public.packet_store, former public.packet_store) returns void
language plpgsql stable set search_path = '' as $$
begin
  if ((memory).packet_type, (memory).envelope, (memory)."timestamp", (memory).routing, (memory).provenance, (memory).thread_id,
      (memory).parent_ids, (memory).tags, (memory).project_id, (memory).branch, (memory).scope,
      (memory).metadata - 'updated_by')
    is distinct from ((former).packet_type, (former).envelope, (former)."timestamp", (former).routing, (former).provenance,
      (former).thread_id, (former).parent_ids, (former).tags, (former).project_id, (former).branch, (former).scope,
      (former).metadata - 'updated_by')
    and packets.awaits_review(memory) then
    perform identity.raise_error('L9IMM', 'memory: it counts already, and what you write there needs a review, so you may change '
      'only its ttl, importance and language; save a new memory, which waits for a reviewer', 'packet_id');
  end if;
end $$;
comment on function packets.refuse_unreviewed_edit is 'Raises L9IMM if a caller whose saves need a review changes what a memory '
  'that counts says, or where it counts.';

-- The unique index would refuse it, too, but name no memory.
create function packets.refuse_withheld_twin(memory public.packet_store) returns void
language plpgsql stable set search_path = '' set l9.withheld = 'pending,rejected' as $$
declare
  twin uuid := (
    select p.packet_id from public.packet_store p
    where p.identity_hash = (memory).identity_hash and p.packet_id <> (memory).packet_id
      and p.withheld_creator = (memory).metadata ->> 'creator' and p.packet_type = (memory).packet_type
      and (p.tenant_id, p.scope, p.project_id, p.branch, p.org_id, p.user_id) is not distinct from (
        (memory).tenant_id, (memory).scope, (memory).project_id, (memory).branch, (memory).org_id, (memory).user_id)
      and (p.packet_type <> 'message' or (p.thread_id, p."timestamp", p.speaker)
        is not distinct from ((memory).thread_id, (memory)."timestamp", (memory).speaker))
    limit 1);
begin
  if twin is not null then
    perform identity.raise_error('L9VAL', format('review_state: memory %s of the same creator says the same and is withheld; '
      'delete that one first, or decide about it', twin));
  end if;
end $$;
comment on function packets.refuse_withheld_twin is 'Raises L9VAL if a memory that is to be withheld would stand beside the same '
  'one of its creator.';

-- A rejected memory that is put back to pending, or approved, lives as long as if it had not been rejected,
-- unless it had a ttl of its own.
create function packets.stamp_decision(decided public.packet_store, former public.packet_store) returns public.packet_store
language plpgsql stable set search_path = '' as $$
begin
  if former.withheld_creator is null and decided.review_state = 'approved' then
    perform identity.raise_error('L9VAL', 'review_state: this memory counts already, so it needs no approval');
  elsif decided.review_state is null or decided.review_state not in ('pending', 'approved', 'rejected') then
    perform identity.raise_error('L9VAL', 'review_state: must be approved, rejected or pending');
  elsif exists (
    select from public.packet_store p where p.packet_id = decided.part_of
      and p.review_state is distinct from decided.review_state) then
    perform identity.raise_error('L9VAL', 'review_state: a part is reviewed with its whole; decide about that one');
  end if;
  if former.withheld_creator is null then
    perform packets.refuse_withheld_twin(decided);
  end if;
  decided.review_reason := nullif(btrim(decided.review_reason), '');
  perform identity.check_bytes(decided.review_reason, packets.max_reason_bytes(), 'review_reason');
  decided.reviewed_by := null;
  decided.reviewed_at := null;
  if former.review_state = 'rejected' and former.ttl = former.reviewed_at + packets.rejected_for()
    and decided.ttl = former.ttl then
    decided.ttl := null;
  end if;
  if decided.review_state = 'pending' then
    decided.review_reason := null;
    return decided;
  end if;
  decided.reviewed_by := coalesce(identity.current_creator(), identity.current_role_name());
  decided.reviewed_at := decided.updated_at;
  -- Of what a model extracted, the facts count from then on; its lines are out of searches.
  decided.archived_at := case when decided.packet_type = 'extraction' and decided.review_state = 'approved' then now()
    else decided.archived_at end;
  if decided.review_state = 'rejected' then
    if decided.review_reason is null then
      perform identity.raise_error('L9VAL', 'review_reason: required to reject a memory; its writer reads it');
    end if;
    decided.ttl := least(coalesce(decided.ttl, 'infinity'), decided.reviewed_at + packets.rejected_for());
    return decided;
  elsif exists (
    select from public.packet_store p where p.packet_id = any (decided.parent_ids) and p.withheld_creator is not null) then
    perform identity.raise_error('L9VAL', 'review_state: approve the parents of this memory first');
  end if;
  return decided;
end $$;
comment on function packets.stamp_decision is 'A memory whose review_state was changed, with who decided and when. A rejected '
  'one expires after 30 days. Raises L9VAL where there is nothing to decide.';

-- An update is a decision, or must not go around a rule. An insert is withheld with its whole or by a rule, and as rejected where
-- its text was rejected before and the tenant holds such texts.
create function packets.tg_packet_store__review() returns trigger
language plpgsql set search_path = '' as $$
declare
  whole public.packet_store;
  rejected public.packet_store;
begin
  if identity.current_role_name() not in ('l9_agent', 'l9_admin', 'l9_worker') then
    return new; -- What l9_owner imports is kept as it is.
  elsif tg_op = 'UPDATE' then
    if new.review_state is distinct from old.review_state then
      return packets.stamp_decision(new, old);
    end if;
    new.review_reason := old.review_reason;
    if identity.current_role_name() = 'l9_agent' then
      if old.review_state = 'rejected' then
        perform identity.raise_error('L9IMM',
          'memory: a reviewer rejected it, so it can''t be changed; save another text as a new memory', 'packet_id');
      elsif old.withheld_creator is null then
        perform packets.refuse_unreviewed_edit(new, old);
      end if;
    end if;
    return new;
  end if;

  new.review_state := null;
  new.reviewed_by := null;
  new.reviewed_at := null;
  new.review_reason := null;
  if new.part_of is not null then
    select p.* into whole from public.packet_store p where p.packet_id = new.part_of;
    if packets.is_withheld(whole.review_state) then
      new.review_state := whole.review_state;
      new.reviewed_by := whole.reviewed_by;
      new.reviewed_at := whole.reviewed_at;
      return new;
    end if;
  end if;
  if not packets.awaits_review(new) then
    return new;
  elsif whole.packet_id is not null then
    perform identity.raise_error('L9IMM', format('memory: the %s that it is a part of counts already, and what you write there '
      'needs a review; save the %1$s again as a new one', whole.packet_type), 'packet_id');
  end if;
  new.review_state := 'pending';
  select r.* into rejected from packets.find_rejected(new) as r;
  if rejected.packet_id is not null then
    perform packets.refuse_rejected(rejected);
    new.review_state := 'rejected';
    new.reviewed_by := rejected.reviewed_by;
    new.reviewed_at := rejected.reviewed_at;
    new.review_reason := rejected.review_reason;
    new.ttl := least(coalesce(new.ttl, 'infinity'), new.created_at + packets.rejected_for());
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__review is 'Withholds a new memory that needs a review by review_rules, refuses '
  'edits that would go around one, and stamps what an administrator decides. A part is withheld with its whole. L9VAL for a '
  'text that was rejected before, L9IMM for an edit that needs a review.';
grant execute on function packets.find_rejected, packets.refuse_rejected, packets.awaits_review,
  packets.refuse_unreviewed_edit, packets.refuse_withheld_twin, packets.stamp_decision, packets.rejected_for
  to l9_agent, l9_admin, l9_worker;
grant execute on function packets.needs_review to l9_agent, l9_admin, l9_worker;

create trigger _375_review
  before insert or update of envelope, packet_type, "timestamp", metadata, routing, provenance, thread_id, parent_ids, tags, ttl,
    project_id, branch, scope, importance_score, correlation_id, session_id, trace_id, language, text_creator, review_state,
    review_reason
  on public.packet_store
  for each row execute function packets.tg_packet_store__review();
