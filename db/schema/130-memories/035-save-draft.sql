-- Saves a draft, which is a row of packet_store that is not stored yet: what is the same by the rules of its kind is updated,
-- and in a kind without rules left as it is. save_memory() and memory_store() call save_draft().
create function memories.find_ended(draft public.packet_store, fields jsonb, is_withheld boolean)
returns setof public.packet_store
language sql stable set search_path = ''
begin atomic
  select p.*
  from public.packet_store p
  where p.content_hash = packets.content_hash(fields ->> 'content')
    and p.identity_hash <> p.content_hash
    and p.tenant_id is not distinct from (select identity.current_tenant_id())
    and p.scope is not distinct from (find_ended.draft).scope
    and p.project_id is not distinct from (find_ended.draft).project_id
    and p.branch is not distinct from (find_ended.draft).branch
    and p.packet_type = (find_ended.draft).packet_type
    and p.org_id is not distinct from (select identity.current_org_id())
    and p.user_id is not distinct from (select identity.current_user_id())
    and p.envelope @> fields
    -- As in packets.find_same(): one that is withheld is the same only as what its creator has to save for a review.
    and (p.withheld_creator is null and not find_ended.is_withheld
      or packets.is_withheld((find_ended.draft).review_state) and p.withheld_creator = (select identity.current_creator()))
  order by p.withheld_creator nulls first, p.updated_at desc, p.packet_id desc limit 1;
end;
comment on function memories.find_ended is 'The memory with these fields that has ended, so that a repeated save adds none.';

create function memories.check_made_content(kind text, rules jsonb, fields jsonb, content text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if jsonb_array_length(rules -> 'text') > 0 and content <> coalesce(kinds.text_of(rules, fields), '') then
    perform identity.raise_error('L9VAL',
      format('content: that of %s is made from its fields (%s); leave it out', kinds.with_article(kind),
      array_to_string(array(select jsonb_array_elements_text(rules -> 'text')), ', ')));
  end if;
end $$;
comment on function memories.check_made_content is 'Raises L9VAL for a content where the kind makes it from the fields.';

create function memories.restate_attestations(saved public.packet_store, given jsonb) returns public.packet_store
language plpgsql volatile set search_path = '' as $$
declare
  lost constant jsonb := (
    select jsonb_object_agg(g.key, g.value) from jsonb_each(given) as g
    where g.key = any (packets.attesting_fields()) and g.value <> 'null' and not saved.envelope ? g.key);
  restated public.packet_store;
begin
  if lost is null then
    return saved;
  end if;
  update public.packet_store p set envelope = p.envelope || lost where p.packet_id = saved.packet_id returning p.* into restated;
  return restated;
end $$;
comment on function memories.restate_attestations is 'Sets attestations that were given again together with a new text.';

create function memories.joined(current public.packet_store, draft public.packet_store, rules jsonb) returns public.packet_store
language plpgsql stable set search_path = '' as $$
declare
  wanted public.packet_store := current;
begin
  -- A field that is left out stays, one that is null goes.
  wanted.envelope := packets.typed_fields(rules, current.envelope
    || case when jsonb_array_length(rules -> 'text') > 0 then draft.envelope - 'content' else draft.envelope end);
  wanted.tags := case when cardinality(draft.tags) > 0 then draft.tags else current.tags end;
  wanted.parent_ids := current.parent_ids
    || array(select distinct p from unnest(draft.parent_ids) as p where p <> all (current.parent_ids));
  -- As the trigger stores it: a memory whose kind never expires needs no infinity.
  wanted.ttl := case when draft.ttl = 'infinity' and coalesce(rules -> 'expires', 'null') = 'null' then null
    else coalesce(draft.ttl, current.ttl) end;
  wanted.importance_score := coalesce(draft.importance_score, current.importance_score);
  wanted.metadata := current.metadata || (coalesce(draft.metadata, '{}') - '{creator,source,agent,tool_name,updated_by}'::text[]);
  wanted.routing := case when draft.routing <> '{}' then draft.routing else current.routing end;
  wanted.provenance := case when draft.provenance <> '{}' then draft.provenance else current.provenance end;
  wanted.language := coalesce(draft.language, current.language);
  wanted.thread_id := coalesce(draft.thread_id, current.thread_id);
  wanted."timestamp" := coalesce(draft."timestamp", current."timestamp");
  return wanted;
end $$;
comment on function memories.joined is 'A memory as it should be after the same memory was saved again as this draft.';

-- Computes the row as it should be and writes it only if it differs, so that a repeated save makes no version.
create function memories.update_same(same public.packet_store, draft public.packet_store, rules jsonb) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  current public.packet_store;
  wanted public.packet_store;
  saved public.packet_store;
  answer public.save_result;
begin
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  select p.* into current from public.packet_store p where p.packet_id = same.packet_id for no key update;
  if not found then
    current := same;
  end if;
  wanted := memories.joined(current, draft, rules);
  answer.memory := current;
  if wanted is not distinct from current then
    answer.status := 'skipped_dedupe';
    return answer;
  end if;
  update public.packet_store p set
    envelope = wanted.envelope, tags = wanted.tags, parent_ids = wanted.parent_ids, ttl = wanted.ttl,
    importance_score = wanted.importance_score,
    metadata = wanted.metadata, routing = wanted.routing, provenance = wanted.provenance, language = wanted.language,
    thread_id = wanted.thread_id, "timestamp" = wanted."timestamp"
  where p.packet_id = same.packet_id returning p.* into saved;
  if not found then
    if coalesce((rules ->> 'stands_beside')::boolean, false) then
      return null;
    end if;
    perform identity.raise_error('L9OWN', format(
      'memory %s is the same %s, and its text is by %s; only that one or an administrator may change it. '
      'Save one of your own beside it, under other %s', same.packet_id, same.packet_type, packets.text_writer(same),
      coalesce(nullif(array_to_string(array(select jsonb_array_elements_text(rules -> 'identity')), ', '), ''), 'words')));
  end if;
  saved := memories.restate_attestations(saved, draft.envelope);
  answer.status := 'updated';
  answer.memory := saved;
  return answer;
end $$;
comment on function memories.update_same is 'Changes a memory to what is stored again under its identity. The status is updated, '
  'or skipped_dedupe if nothing differs. Errors: L9OWN, L9IMM and those of a save.';

create function memories.identity_of(rules jsonb, fields jsonb) returns bytea language sql stable set search_path = ''
-- A memory that ends with this save, such as a todo that is done, still is the one that was open.
return kinds.identity_of(coalesce(rules - 'identity_ends_when', '{"identity": []}'), fields, null,
  packets.text_identity(secrets.as_stored(fields ->> 'content', identity.current_tenant_id())));
comment on function memories.identity_of is 'The identity_hash of a memory with these fields, by its kind or content.';

create function memories.awaits_review(draft public.packet_store) returns boolean
language sql stable set search_path = ''
return (
  select packets.needs_review((me).tenant_id, (me).caller, (draft).scope, (draft).project_id, (draft).packet_type, (me).source)
  from identity.current_identity() as me);
comment on function memories.awaits_review is 'True if the caller can save a draft only for a review.';

create function memories.find_same(
  draft public.packet_store, rules jsonb, is_beside boolean default false, is_withheld boolean default false)
returns public.packet_store
language plpgsql stable set search_path = '' as $$
declare
  fields constant jsonb := case when rules is null then draft.envelope else packets.typed_fields(rules, draft.envelope) end;
  hash constant bytea := memories.identity_of(rules, fields);
  same public.packet_store;
begin
  if memories.awaits_review(draft) then
    draft.review_state := 'pending';
  end if;
  if (rules ->> 'stands_beside')::boolean then
    select s.* into same
    from packets.find_same(draft, packets.own_identity(hash, identity.current_creator()), is_withheld) as s;
  end if;
  if same.packet_id is null and not is_beside then
    select s.* into same from packets.find_same(draft, hash, is_withheld) as s
    where (not coalesce((rules ->> 'supersedes')::boolean, false)
        -- One that this memory replaces is another one, even if its name is the same.
        or s.packet_id::text is distinct from lower(fields ->> 'supersedes'))
      and (draft.packet_type <> 'message' or (s.thread_id, s."timestamp", s.speaker) is not distinct from (
        draft.thread_id, draft."timestamp",
        packets.speaker_of('message', packets.with_trimmed_speaker(draft.metadata), fields ->> 'content')));
  end if;
  if same.packet_id is null and kinds.is_met(nullif(rules -> 'identity_ends_when', 'null'), fields) then
    select s.* into same from memories.find_ended(draft, fields, is_withheld) as s;
  end if;
  return same;
end $$;
comment on function memories.find_same is 'The memory that is the same as a draft by the rules of its kind or, without rules, '
  'by its content; null if there is none. is_withheld: of a caller whose save needs a review, its own one that is pending or '
  'rejected. is_beside: one that the caller may not change is not looked for, because the new memory is to stand beside it.';

create function memories.insert_draft(draft public.packet_store) returns public.packet_store
language plpgsql volatile set search_path = '' as $$
declare
  saved public.packet_store;
begin
  insert into public.packet_store (
    packet_type, envelope, "timestamp", language, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id,
    branch, scope, importance_score, correlation_id, session_id, trace_id)
  values (
    draft.packet_type, draft.envelope, draft."timestamp", draft.language, coalesce(draft.routing, '{}'),
    coalesce(draft.provenance, '{}'), coalesce(draft.metadata, '{}'), draft.thread_id, coalesce(draft.parent_ids, '{}'),
    coalesce(draft.tags, '{}'), draft.ttl, draft.project_id, draft.branch, draft.scope, coalesce(draft.importance_score, 0.5),
    draft.correlation_id, draft.session_id, draft.trace_id)
  on conflict do nothing returning * into saved;
  return saved;
end $$;
comment on function memories.insert_draft is 'Inserts a draft, null columns by default; null if one that is the same exists.';

-- A kind without rules is inserted at once, and the same memory looked for where there is one; a kind with rules looks first,
-- because its triggers change other memories, and so does a save that needs a review, because what counts already needs none. If
-- a concurrent save or delete was first, it looks again.
create function memories.save_draft(draft public.packet_store, rules jsonb, is_beside boolean default false)
returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  needs_review constant boolean := memories.awaits_review(draft);
  same public.packet_store;
  answer public.save_result;
begin
  if rules is not null or needs_review then
    -- That a memory is there already excuses nobody from the rights to save it.
    perform packets.check_scope(draft.scope, draft.project_id);
  end if;
  for attempt in 1..4 loop
    if rules is not null or needs_review or attempt > 1 then
      same := memories.find_same(draft, rules, is_beside);
    end if;
    if needs_review and rules is not null and same.withheld_creator is null and same.packet_id is not null
      and memories.joined(same, draft, rules) is distinct from same then
      -- What counts already stays as it is: the change is proposed as a memory of its own.
      same := memories.find_same(draft, rules, is_beside, is_withheld => true);
    end if;
    perform packets.refuse_rejected(same);
    if same.packet_id is not null and rules is null then
      answer.status := 'skipped_dedupe';
      answer.memory := same;
    elsif same.packet_id is not null then
      answer := memories.update_same(same, draft, rules);
      if answer.status is null and not is_beside then
        return memories.save_draft(draft, rules, is_beside => true);
      end if;
    end if;
    exit when answer.status is not null;
    if rules is null then
      answer.memory := memories.insert_draft(draft);
    else
      begin
        answer.memory := memories.insert_draft(draft);
        if (answer.memory).packet_id is null then
          raise exception using errcode = 'TAKEN';
        end if;
      exception when sqlstate 'TAKEN' then
        null; -- What a trigger did for the row, such as marking one as superseded, is undone with it.
      end;
    end if;
    if (answer.memory).packet_id is not null then
      answer.status := 'inserted';
      exit;
    end if;
  end loop;
  if answer.status is null then
    raise exception using errcode = '40001', message = 'too many concurrent saves of this memory; try again';
  end if;
  return answer;
end $$;
comment on function memories.save_draft is 'Saves a draft, or answers with the memory that is the same: updated where its kind '
  'has rules. is_beside: the new memory is to stand beside one that the caller may not change. Errors: those of a save.';

create function memories.audit_shown(answer public.save_result) returns void language sql volatile set search_path = ''
begin atomic
  select audit.audit_read('READ', pg_catalog.jsonb_build_object('status', (audit_shown.answer).status),
    ((audit_shown.answer).memory).packet_id, ((audit_shown.answer).memory).project_id, ((audit_shown.answer).memory).scope);
end;
comment on function memories.audit_shown is 'Audits that a save which wrote nothing returned a memory that was there already.';

create function memories.note_answer(answer public.save_result, rules jsonb, ttl timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if answer.status = 'inserted' then
    return;
  end if;
  -- A kind with rules says itself when its memories expire.
  perform packets.claim_text((answer.memory).packet_id, case when rules is null then coalesce(note_answer.ttl, 'infinity') end);
  if answer.status = 'skipped_dedupe' then
    perform memories.audit_shown(answer);
  end if;
end $$;
comment on function memories.note_answer is 'Does what follows from an answer with a memory that was there already: an '
  'administrator stands by its text, and its read is audited where nothing was written.';

-- Without a search_path it is inlined.
create function memories.with_content(envelope jsonb, content text, rules jsonb) returns jsonb language sql stable parallel safe
return coalesce(envelope, '{}')
  -- Without rules, a missing content is an error that names it, even where the envelope has one.
  || case when rules is not null and content is null then '{}' else pg_catalog.jsonb_build_object('content', content) end;
comment on function memories.with_content is 'The envelope of a draft: the fields that were given, and the content.';
grant execute on function memories.restate_attestations, memories.find_ended, memories.check_made_content, memories.joined,
  memories.awaits_review, memories.update_same,
  memories.identity_of, memories.find_same, memories.insert_draft, memories.save_draft, memories.audit_shown,
  memories.note_answer, memories.with_content to l9_agent, l9_admin;
