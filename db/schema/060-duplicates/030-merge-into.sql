create function duplicates.merge_into(
  target public.packet_store, content text, tags text[], parent_ids uuid[], ttl timestamptz, importance real, metadata jsonb,
  envelope jsonb)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  answer public.save_result;
  saved public.packet_store;
  old_content text := target.envelope ->> 'content';
  -- Of texts of one length the newer stays: it may be the one that is right.
  new_content text := case
    when packets.content_hash(content) <> target.content_hash and length(content) >= length(old_content) then content
    else old_content
  end;
  joined_tags text[] := target.tags || array(
    select btrim(t.tag) from unnest(tags) as t (tag) where btrim(t.tag) <> '' and btrim(t.tag) <> all (target.tags));
  joined_parents uuid[] := target.parent_ids || array(
    select distinct p.id from unnest(parent_ids) as p (id) where p.id <> all (target.parent_ids) and p.id <> target.packet_id);
  joined_envelope jsonb := coalesce(envelope, '{}') || target.envelope || jsonb_build_object('content', new_content);
  joined_metadata jsonb := coalesce(metadata, '{}') || target.metadata;
  -- What is said again is kept as long, and counts as much, as either saver meant it to.
  joined_ttl timestamptz := greatest(coalesce(target.ttl, 'infinity'), coalesce(ttl, 'infinity'));
  joined_importance real := greatest(target.importance_score, importance);
begin
  if joined_ttl = 'infinity' then
    joined_ttl := null;
  end if;
  if (joined_tags, joined_parents, joined_envelope, joined_metadata, joined_importance)
      = (target.tags, target.parent_ids, target.envelope, target.metadata, target.importance_score)
    and joined_ttl is not distinct from target.ttl then
    answer.status := 'skipped_dedupe';
    answer.memory := target;
    return answer;
  end if;
  begin
    update public.packet_store p set
      envelope = joined_envelope, tags = joined_tags, parent_ids = joined_parents, ttl = joined_ttl,
      importance_score = joined_importance, metadata = joined_metadata
    where p.packet_id = target.packet_id
    returning p.* into saved;
    answer.status := 'updated';
    answer.memory := saved;
  exception
    -- Too many tags together, a parent that is younger than the memory, a text that a third memory has: the two stay two.
    when sqlstate 'L9LIM' or sqlstate 'L9VAL' or unique_violation then
      answer := null;
  end;
  return answer;
end
$$;

comment on function duplicates.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb) is
  'Joins what is saved into a memory that says nearly the same, as its writer''s update: the longer text, all tags and parents. updated; skipped_dedupe where nothing is new; null where they can''t be joined.';

grant execute on function
  duplicates.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb)
to l9_agent, l9_admin;
