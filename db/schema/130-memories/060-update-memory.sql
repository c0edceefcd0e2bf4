-- The operation update_memory: changes the given fields of one memory. The row is locked under the policies of the
-- caller, which find it only if the caller may change it; triggers then check and stamp the change.
create function public.update_memory(
  packet_id uuid, content text default null, scope text default null, project_id text default null, kind text default null,
  tags text[] default null, thread_id text default null, parent_ids uuid[] default null, ttl timestamptz default null,
  importance real default null, metadata jsonb default null, envelope jsonb default null, speaker text default null,
  "timestamp" timestamptz default null, language text default null, branch text default null, clear text[] default null,
  expected_version timestamptz default null) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  old_row public.packet_store;
  saved public.packet_store;
  answer public.save_result;
  new_scope text;
  new_project text;
  rules jsonb;
  new_branch text;
begin
  scope := identity.given_text(update_memory.scope);
  project_id := identity.given_text(update_memory.project_id);
  branch := identity.given_text(update_memory.branch);
  kind := identity.given_text(update_memory.kind);
  language := identity.given_text(update_memory.language);
  if not coalesce(update_memory.clear, '{}') <@ '{tags,parent_ids,thread_id}' then
    perform identity.raise_error('L9VAL', 'clear: each must be one of tags, parent_ids, thread_id');
  end if;
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  select p.* into old_row from public.packet_store p where p.packet_id = update_memory.packet_id for update;
  if not found then
    perform memories.raise_not_yours(update_memory.packet_id);
  end if;
  perform memories.check_version(old_row, update_memory.expected_version);
  if update_memory.ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future; delete the memory instead');
  elsif jsonb_typeof(update_memory.envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object');
  elsif jsonb_typeof(update_memory.metadata) <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata: must be an object');
  end if;
  rules := kinds.rules_of(coalesce(update_memory.kind, old_row.packet_type), me.tenant_id);
  if rules is not null and update_memory.content is not null then
    perform memories.check_made_content(coalesce(update_memory.kind, old_row.packet_type), rules,
      old_row.envelope || coalesce(update_memory.envelope, '{}'), update_memory.content);
  end if;
  new_scope := coalesce(update_memory.scope, old_row.scope);
  -- A memory that moves to a scope without projects loses its project and its branch.
  new_project := case
    when update_memory.project_id is not null then update_memory.project_id
    when update_memory.scope is null or packets.scope_has_projects(new_scope) then old_row.project_id
  end;
  new_branch := case
    when update_memory.branch is not null then packets.one_branch(update_memory.branch)
    when new_project is not null then old_row.branch
  end;

  begin
    update public.packet_store p set
      envelope = p.envelope || coalesce(update_memory.envelope, '{}')
        || jsonb_build_object('content', coalesce(update_memory.content, p.envelope ->> 'content')),
      scope = new_scope,
      project_id = new_project,
      branch = new_branch,
      packet_type = coalesce(kind, p.packet_type),
      tags = coalesce(update_memory.tags, case when 'tags' = any (clear) then '{}' else p.tags end),
      thread_id = coalesce(identity.given_text(update_memory.thread_id),
        case when 'thread_id' = any (clear) then null else p.thread_id end),
      parent_ids = coalesce(update_memory.parent_ids, case when 'parent_ids' = any (clear) then '{}' else p.parent_ids end),
      ttl = coalesce(update_memory.ttl, p.ttl), -- A trigger makes infinity null.
      importance_score = coalesce(importance, p.importance_score),
      "timestamp" = coalesce(update_memory."timestamp", p."timestamp"),
      language = coalesce(update_memory.language, p.language),
      metadata = p.metadata || coalesce(update_memory.metadata, '{}')
        || case when update_memory.speaker is not null then jsonb_build_object('speaker', update_memory.speaker) else '{}' end
    where p.packet_id = update_memory.packet_id returning p.* into saved;
  exception when unique_violation then
    perform identity.raise_error('L9VAL',
      'content: another memory of this scope, project, branch and kind has this content, or the fields that identify it');
  end;
  saved := memories.restate_attestations(saved, update_memory.envelope);
  answer.status := 'updated';
  answer.memory := saved;
  return answer;
end $$;
comment on function public.update_memory is 'Changes the given fields of a memory. ttl infinity removes the expiry; branch * is '
  'every branch; metadata with speaker null leaves that to the text; clear empties tags, parent_ids or thread_id. envelope: '
  'fields to change; null removes one. expected_version: the updated_at that was read. Agents change only what they wrote '
  '(L9OWN). Errors: L9OWN, L9VER, L9SCP, L9VAL, L9LIM, L9IMM, L9AUT.';
grant execute on function public.update_memory to l9_agent, l9_admin;
