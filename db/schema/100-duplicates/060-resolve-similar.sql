-- Finds near-duplicates of what save_memory() is to save, and skips or merges it where on_similar says so. A lock on
-- the audience makes such saves wait for each other, so that two of the same text do not miss each other.

create function duplicates.resolve_similar(
  on_similar text, content text, scope text, project_id text, branch text, kind text, tags text[], parent_ids uuid[],
  ttl timestamptz, importance real, metadata jsonb, envelope jsonb, content_vector extensions.vector, model text)
returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  answer public.save_result;
  merged public.save_result;
  candidate record;
  target public.packet_store;
begin
  if on_similar not in ('keep', 'skip', 'merge') then
    perform identity.raise_error('L9VAL', 'on_similar: must be keep, skip or merge', 'on_similar');
  elsif content is null or identity.is_blank(content) or octet_length(content) > packets.max_content_bytes() then
    return null; -- The insert raises the error.
  end if;
  scope := coalesce(scope, 'developer');
  kind := coalesce(kind, 'note');
  if kind = 'message' or kinds.rules_of(kind, me.tenant_id) is not null then
    -- People repeat themselves: a turn that was skipped or merged would be missing from its conversation. Of other kinds, their
    -- own rules say which are the same.
    on_similar := 'keep';
  end if;
  perform packets.check_scope(scope, project_id);
  if on_similar = 'merge' and packets.needs_review(me.tenant_id, me.caller, scope, project_id, kind, me.source) then
    on_similar := 'keep'; -- What is to be reviewed stands beside what counts.
  end if;

  if on_similar <> 'keep' then
    -- The lock is held until the end of the transaction. The following statements see what its previous holders
    -- committed.
    perform pg_advisory_xact_lock(hashtextextended(format('l9-memory similar %s %s',
      packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope), kind), 0));
  end if;

  answer."similar" := '{}';
  for candidate in
    select s.* from duplicates.find_similar(
      content, scope, project_id, branch, kind, me.org_id, me.user_id, null, content_vector, model) s
    order by s.similarity desc, s.packet_id
  loop
    answer."similar" := answer."similar" || row(candidate.packet_id, candidate.similarity)::public.similar_memory;
    continue when on_similar = 'keep' or answer.status is not null;
    if on_similar = 'skip' then
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id;
    else
      -- Under row-level security FOR UPDATE finds only rows that the caller may change, so another writer's memory stays
      -- as it is.
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id for update;
    end if;
    -- The memory was deleted or changed by a concurrent transaction.
    continue when not found or target.content_hash <> candidate.content_hash;
    if on_similar = 'skip' then
      answer.status := 'skipped_dedupe';
      answer.memory := target;
    else
      merged := duplicates.merge_into(target, content, tags, parent_ids, ttl, importance, metadata, envelope);
      answer.status := merged.status;
      answer.memory := merged.memory;
    end if;
  end loop;
  return answer;
end $$;
comment on function duplicates.resolve_similar is 'Handles near-duplicates for save_memory: reports them and, with on_similar '
  'skip or merge, answers with a status if it can; messages are only reported. Without a status the memory has to be inserted.';
grant execute on function duplicates.resolve_similar to l9_agent, l9_admin;
