-- Saves what a chat model found worth keeping in an archived session, as memories of the session's caller. The gateway calls
-- save_session_draft() for each draft, once the session is archived.
create function archive.draft_kinds() returns text[] language sql immutable parallel safe
return array['decision', 'fact', 'lesson', 'note', 'preference', 'todo'];
comment on function archive.draft_kinds is 'The kinds of what a chat model drafts from a session.';

create function archive.max_draft_chars() returns integer language sql immutable parallel safe return 500;
comment on function archive.max_draft_chars is 'The most characters of a draft, which holds one fact.';

-- Any of these kinds counts: what the agent saved as a note is no news as a fact.
create function archive.is_known(draft public.packet_store, content text, rules jsonb) returns boolean
language sql stable set search_path = ''
begin atomic
  select (memories.find_same(draft, rules)).packet_id is not null or exists (
    select
    from pg_catalog.unnest(archive.draft_kinds() || array['reflection', 'rule']) as k (kind)
    cross join lateral duplicates.find_similar(
      case when k.kind = (draft).packet_type then coalesce(kinds.text_of(rules, (draft).envelope), content) else content end,
      (draft).scope, (draft).project_id, null, k.kind, (select identity.current_org_id()),
      (select identity.current_user_id())) s);
end;
comment on function archive.is_known is 'True if a memory that the caller reads in the place of a draft says the same, or '
  'nearly. content: the draft without its reason.';

-- A decision is only proposed: who took it can accept it. What is there already stays as it is.
create function archive.save_session_draft(packet_id uuid, kind text, content text, reason text, model text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
  source public.packet_store;
  draft public.packet_store;
  rules jsonb;
  lesson public.reflect_result;
  saved public.save_result;
  saved_id uuid;
begin
  select p.* into source from public.packet_store p
  where p.packet_id = save_session_draft.packet_id and p.packet_type = 'session'
    and p.metadata ->> 'creator' = (select identity.current_creator());
  if not found then
    perform memories.raise_not_yours(save_session_draft.packet_id);
  elsif (save_session_draft.kind = any (archive.draft_kinds())) is not true then
    perform identity.raise_error('L9VAL', 'kind: must be one of ' || array_to_string(archive.draft_kinds(), ', '));
  elsif greatest(char_length(content), char_length(reason)) > archive.max_draft_chars() then
    perform identity.raise_error('L9LIM', format('content: at most %s characters, and its reason, too',
      archive.max_draft_chars()), 'content');
  elsif identity.is_blank(model) is not false or octet_length(model) > packets.max_reference_bytes() then
    perform identity.raise_error('L9VAL', 'model: a name of at most 200 bytes is required');
  end if;
  draft.packet_type := case save_session_draft.kind when 'lesson' then 'reflection' else save_session_draft.kind end;
  draft.scope := source.scope;
  draft.project_id := source.project_id;
  rules := kinds.rules_of(draft.packet_type, source.tenant_id);
  draft.envelope := case draft.packet_type
    when 'decision' then jsonb_build_object('title', content, 'status', 'proposed', 'rationale', reason)
    when 'todo' then jsonb_build_object('text', content, 'status', 'open')
    else jsonb_build_object('content', content) end;

  perform set_config('l9.extracting_model', model, true);
  if not archive.is_known(draft, content, rules) then
    if draft.packet_type = 'reflection' then
      lesson := public.reflect(content, context => reason, scope => source.scope, project_id => source.project_id, branch => '*',
        learned_from => array[source.packet_id], expires_at => source.ttl);
      saved_id := case when lesson.status <> 'reinforced' then (lesson.reflection).source_packet end;
    else
      saved := public.save_memory(draft.envelope ->> 'content', scope => source.scope, project_id => source.project_id,
        branch => '*', kind => draft.packet_type, parent_ids => array[source.packet_id], ttl => source.ttl,
        session_id => source.session_id, "timestamp" => source."timestamp", envelope => draft.envelope - 'content');
      saved_id := case when saved.status = 'inserted' then (saved.memory).packet_id end;
    end if;
  end if;
  perform set_config('l9.extracting_model', '', true);
  return saved_id;
end $$;
comment on function archive.save_session_draft is 'Saves a draft of a chat model as a memory of the caller, where the caller''s '
  'archived session is, with that as its parent: of source extraction, and pending where what models extract waits for a review. '
  'content: one fact. reason: why, of a decision; when it applies, of a lesson. Returns null if a memory there says it already. '
  'Errors: L9OWN and those of a save.';
grant execute on function archive.draft_kinds, archive.max_draft_chars, archive.is_known, archive.save_session_draft
  to l9_agent, l9_admin;
