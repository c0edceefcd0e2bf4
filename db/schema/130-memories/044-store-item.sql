-- Stores one item of memory_store(), with the text and the approval of a document. memory_store() calls store_item()
-- for items that it cannot insert together.
create function memories.approve_document(packet_id uuid, approval jsonb) returns boolean
language plpgsql volatile set search_path = '' as $$
begin
  if exists (
    select from public.packet_store p
    where p.packet_id = approve_document.packet_id
      and packets.typed_fields(kinds.rules_of(p.packet_type, p.tenant_id), p.envelope || approval) = p.envelope) then
    return false;
  end if;
  -- Under row-level security UPDATE changes only rows that the caller may change.
  update public.packet_store p set envelope = p.envelope || approval where p.packet_id = approve_document.packet_id;
  if not found then
    perform memories.raise_not_yours(approve_document.packet_id);
  end if;
  return true;
end $$;
comment on function memories.approve_document is 'Sets approved_at and approved_by of a document. True if that changes it. '
  'Errors: L9OWN, L9IMM if it is approved otherwise already, L9VAL, L9LIM.';

create function memories.restore_ttl(memory public.packet_store) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  rules constant jsonb := kinds.rules_of(memory.packet_type, memory.tenant_id);
  by_kind constant timestamptz := kinds.moment_after(rules, 'expires', memory.envelope);
begin
  -- A part has the ttl of its whole.
  if rules is null or memory.part_of is not null or memory.ttl is not distinct from by_kind then
    return false;
  end if;
  update public.packet_store p set ttl = by_kind where p.packet_id = memory.packet_id;
  if not found then
    perform memories.raise_not_yours(memory.packet_id);
  end if;
  return true;
end $$;
comment on function memories.restore_ttl is 'Gives a memory its kind''s ttl for its own; true if that changes it. Raises L9OWN.';

-- Saves the memory, then the text of a document, then its approval, which locks it.
create function memories.save_item(item jsonb, draft public.packet_store, rules jsonb) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  saved public.save_result;
  body constant text := case when draft.packet_type = 'document' then draft.envelope ->> 'body_md' end;
  -- An approved document is locked, so it gets its text before its approval.
  approval constant jsonb := case when body is not null and coalesce(draft.envelope -> 'approved_at', 'null') <> 'null' then (
    select jsonb_object_agg(f.key, f.value) from jsonb_each(draft.envelope) as f
      where f.key in ('approved_at', 'approved_by')) end;
  given constant jsonb := draft.envelope - 'content' - case when body is null then '{}'
    when approval is null then '{body_md}' else '{body_md,approved_at,approved_by}' end::text[];
  is_changed boolean := false;
begin
  if rules is not null then
    perform memories.check_made_content(draft.packet_type, rules, given, draft.envelope ->> 'content');
  end if;
  draft.envelope := memories.with_content(given, draft.envelope ->> 'content', rules);
  saved := memories.save_draft(draft, rules);
  perform memories.note_answer(saved, rules, draft.ttl);
  -- Each in a statement of its own: beside a condition that is known already it might not be called.
  if item ->> 'ttl_policy' = 'default' and saved.status <> 'inserted' then
    is_changed := memories.restore_ttl(saved.memory);
  end if;
  if body is not null and saved.status = 'skipped_dedupe' and not packets.may_rewrite(saved.memory, identity.current_identity())
    and documents.has_body(saved.memory, body) is not true then
    -- The document of this path is another writer's, and says something else.
    saved := memories.save_draft(draft, rules, is_beside => true);
  end if;
  if body is not null then
    is_changed := documents.store_body(saved.memory, body) or is_changed;
  end if;
  if approval is not null and current_setting('l9.is_unfinished', true) is distinct from 'true' then
    is_changed := memories.approve_document((saved.memory).packet_id, approval) or is_changed;
  end if;
  if is_changed and saved.status = 'skipped_dedupe' then
    saved.status := 'updated';
  end if;
  return saved;
end $$;
comment on function memories.save_item is 'Saves the memory of an item, and the text and approval of a document.';

create function memories.check_version_of_item(draft public.packet_store, rules jsonb, expected_version timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
  same public.packet_store;
  locked public.packet_store;
begin
  -- A memory that this one replaces is the same here, too.
  same := memories.find_same(draft, rules - 'supersedes');
  -- Until the end of the transaction nobody else changes it. One that the caller may not change is refused by the save.
  select p.* into locked from public.packet_store p where p.packet_id = same.packet_id for update;
  perform memories.check_version(case when found then locked else same end, expected_version);
end $$;
comment on function memories.check_version_of_item is 'Raises L9VER if the item''s memory has changed or gone since it was read.';

-- A known idempotency key answers first. Otherwise the answer is remembered once the whole item is stored.
create function memories.store_item(index integer, item jsonb, draft public.packet_store) returns public.stored_item
language plpgsql volatile set search_path = '' as $$
declare
  answer public.stored_item;
  saved public.save_result;
  key constant text := item ->> 'idempotency_key';
  rules constant jsonb := kinds.rules_of(draft.packet_type, identity.current_tenant_id());
  -- Of the item as it was given: the time of a ttl differs in a retry, and the text of a document is no field of its memory.
  request_hash constant bytea := sha256(convert_to((item || jsonb_build_object(
    'kind', draft.packet_type, 'scope', draft.scope, 'project_id', draft.project_id, 'branch', draft.branch))::text, 'UTF8'));
begin
  if key is not null then
    saved := memories.answer_of_key(key, request_hash);
  end if;
  if saved.status is not null then
    perform memories.audit_shown(saved);
  else
    if item ->> 'expected_version' is not null then
      perform memories.check_version_of_item(draft, rules, kinds.field_time(item -> 'expected_version'));
    end if;
    perform set_config('l9.is_unfinished', '', true);
    saved := memories.save_item(item, draft, rules);
    if current_setting('l9.is_unfinished', true) = 'true' then
      answer.is_unfinished := true;
    elsif key is not null then
      perform memories.remember_answer(key, request_hash, saved);
    end if;
  end if;
  answer.index := index;
  answer.status := saved.status;
  answer.packet_id := (saved.memory).packet_id;
  answer.kind := draft.packet_type;
  answer.project_id := (saved.memory).project_id;
  answer.branch := (saved.memory).branch;
  answer.created_at := (saved.memory).created_at;
  answer.updated_at := (saved.memory).updated_at;
  return answer;
end $$;
comment on function memories.store_item is 'Stores one item of memory_store. A repeated item with the same idempotency_key is '
  'answered as at first; another one with that key is refused (L9VAL).';
grant execute on function memories.approve_document, memories.restore_ttl, memories.save_item, memories.check_version_of_item,
  memories.store_item to l9_agent, l9_admin;
