-- Joins a save with a near-duplicate memory, where on_similar is merge: resolve_similar() calls it. The row as it
-- should be is computed first and compared, so that a merge with nothing new writes nothing.
create function duplicates.merge_into(
  target public.packet_store, content text, tags text[], parent_ids uuid[], ttl timestamptz, importance real, metadata jsonb,
  envelope jsonb) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  answer public.save_result;
  saved public.packet_store;
  old_content text := target.envelope ->> 'content';
  -- The two differ in no value, so the longer text has all that the other says. If they are equally long the newer one wins.
  new_content text := case
    when packets.content_hash(content) <> target.content_hash and length(content) >= length(old_content) then content
    else old_content
  end;
  merged_tags text[] := target.tags || array(
    select btrim(t.tag) from unnest(tags) as t (tag) where btrim(t.tag) <> '' and btrim(t.tag) <> all (target.tags));
  merged_parents uuid[] := target.parent_ids || array(
    select distinct p.id from unnest(parent_ids) as p (id) where p.id <> all (target.parent_ids) and p.id <> target.packet_id);
  -- Of two values of a field the newer one wins. Who wrote the memory is no such field: triggers keep that.
  merged_envelope jsonb := target.envelope || coalesce(envelope, '{}') || jsonb_build_object('content', new_content);
  merged_metadata jsonb := target.metadata || (coalesce(metadata, '{}') - '{creator,source,agent,tool_name,updated_by}'::text[]);
  -- The result lives as long and matters as much as the more generous of the two saves says.
  merged_ttl timestamptz := greatest(coalesce(target.ttl, 'infinity'), coalesce(ttl, 'infinity'));
  merged_importance real := greatest(target.importance_score, importance);
begin
  if merged_ttl = 'infinity' then
    merged_ttl := null;
  end if;
  if (merged_tags, merged_parents, merged_envelope, merged_metadata, merged_importance)
      = (target.tags, target.parent_ids, target.envelope, target.metadata, target.importance_score)
    and merged_ttl is not distinct from target.ttl then
    answer.status := 'skipped_dedupe';
    answer.memory := target;
    return answer;
  end if;
  begin
    update public.packet_store p set
      envelope = merged_envelope, tags = merged_tags, parent_ids = merged_parents, ttl = merged_ttl,
      importance_score = merged_importance, metadata = merged_metadata
    where p.packet_id = target.packet_id returning p.* into saved;
    answer.status := 'updated';
    answer.memory := saved;
  exception
    -- Too many tags together, a parent younger than the memory, or a text that a third memory has: keep both memories.
    when sqlstate 'L9LIM' or sqlstate 'L9VAL' or unique_violation then
      answer := null;
  end;
  return answer;
end $$;
comment on function duplicates.merge_into is 'Merges a save into a near-duplicate memory, as an update by that memory''s writer: '
  'the longer text wins, and of a field the newer value; all tags and parents are kept. The status is updated, or skipped_dedupe '
  'if nothing is new; the result is null if the two can''t be merged.';
grant execute on function duplicates.merge_into to l9_agent, l9_admin;
