-- The trigger _100_normalise of packet_store, which cleans what is written and enforces limits with errors that name the field.
create function packets.with_trimmed_speaker(metadata jsonb) returns jsonb language plpgsql stable set search_path = '' as $$
declare
  speaker text := regexp_replace(metadata ->> 'speaker', '^\s+|\s+$', '', 'g');
begin
  if speaker is null then
    return metadata;
  elsif jsonb_typeof(metadata -> 'speaker') = 'string' and packets.is_speaker(speaker) then
    return jsonb_set(metadata, '{speaker}', to_jsonb(speaker));
  end if;
  perform identity.raise_error('L9VAL',
    format('speaker: must be a name on one line, 1 to %s bytes', packets.max_reference_bytes()));
  return null;
end $$;
comment on function packets.with_trimmed_speaker is 'The metadata with the speaker trimmed. Raises L9VAL if it is no name.';

-- The content is checked on every write; what stands beside it only from 128 bytes on, which most memories do not reach.
create function packets.tg_packet_store__normalise() returns trigger language plpgsql set search_path = '' as $$
declare
  content text := new.envelope ->> 'content';
  bytes integer := octet_length(content);
  documents text;
begin
  if content is null or jsonb_typeof(new.envelope -> 'content') <> 'string' then
    perform identity.raise_error('L9VAL', 'content: a text is required');
  elsif bytes > packets.max_content_bytes() then
    perform identity.raise_error('L9LIM',
      format('content: at most %s bytes (1 MiB), got %s', packets.max_content_bytes(), bytes));
  elsif identity.is_blank(content) then
    perform identity.raise_error('L9VAL', 'content: must not be blank');
  end if;

  -- Clients fill in a form that they don't use with an empty text.
  new.project_id := identity.given_text(new.project_id);
  new.branch := identity.given_text(new.branch);
  new.thread_id := identity.given_text(new.thread_id);
  new.correlation_id := identity.given_text(new.correlation_id);
  new.session_id := identity.given_text(new.session_id);
  new.trace_id := identity.given_text(new.trace_id);
  if new.metadata is null or jsonb_typeof(new.metadata) <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata: must be an object');
  elsif jsonb_typeof(new.metadata -> 'notes') <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata.notes: must be an object', 'metadata');
  end if;
  if new.metadata ? 'speaker' then
    new.metadata := packets.with_trimmed_speaker(new.metadata);
  end if;

  documents := concat_ws(' ', (new.envelope - 'content')::text, new.metadata::text, new.routing::text, new.provenance::text);
  -- Most memories have little beside their content, and 64 levels have 128 brackets.
  if octet_length(documents) >= 128 then
    if octet_length((new.envelope - 'content')::text) > packets.max_envelope_bytes() then
      perform identity.raise_error('L9LIM',
        format('envelope: at most %s bytes (256 KiB) beside the content', packets.max_envelope_bytes()));
    elsif greatest(octet_length(new.routing::text), octet_length(new.provenance::text)) > packets.max_metadata_bytes() then
      perform identity.raise_error('L9LIM',
        format('routing, provenance: at most %s bytes (64 KiB) each', packets.max_metadata_bytes()), 'provenance');
    -- Deeper values could be stored, but clients that read them may fail to parse them.
    elsif jsonb_path_exists(new.envelope, '$.**{64}') or jsonb_path_exists(new.metadata, '$.**{64}')
      or jsonb_path_exists(new.routing, '$.**{64}') or jsonb_path_exists(new.provenance, '$.**{64}') then
      perform identity.raise_error('L9LIM', 'envelope, metadata, routing, provenance: at most 64 levels deep', 'metadata');
    end if;
  end if;

  -- What l9_owner itself imports was written elsewhere, and is kept as it is.
  if identity.may_hold_long_number(documents) and identity.current_role_name() <> 'l9_owner'
    and (tg_op = 'INSERT' or (new.envelope, new.metadata, new.routing, new.provenance)
      is distinct from (old.envelope, old.metadata, old.routing, old.provenance)) then
    perform identity.check_numbers(new.envelope - 'content', 'envelope'), identity.check_numbers(new.metadata, 'metadata'),
      identity.check_numbers(new.routing, 'routing'), identity.check_numbers(new.provenance, 'provenance');
  end if;

  if cardinality(new.tags) > 0 then
    new.tags := array(
      select c.tag
      from unnest(new.tags) with ordinality as t (tag, place) cross join lateral packets.clean_tag(t.tag) as c (tag)
      where not identity.is_blank(c.tag) group by c.tag order by min(t.place));
    if cardinality(new.tags) > packets.max_tags() then
      perform identity.raise_error('L9LIM', format('tags: at most %s, got %s', packets.max_tags(), cardinality(new.tags)));
    elsif exists (select from unnest(new.tags) as t (tag) where octet_length(t.tag) > packets.max_reference_bytes()) then
      perform identity.raise_error('L9LIM', format('tags: at most %s bytes each', packets.max_reference_bytes()));
    end if;
  end if;
  if new.packet_type !~ packets.kind_pattern() then
    perform identity.raise_error('L9VAL', 'kind: must be a lower-case word of letters, digits and _, at most 63 characters');
  elsif not new.language = any (words.languages()) then
    perform identity.raise_error('L9VAL', format('language: must be one of %s', array_to_string(words.languages(), ', ')));
  elsif not identity.is_branch(new.branch) then
    perform identity.raise_error('L9VAL', 'branch: must be 1 to 255 characters that Git allows as the name of a branch');
  elsif not new.importance_score between 0 and 1 then
    perform identity.raise_error('L9VAL', 'importance: must be from 0 to 1');
  elsif cardinality(new.parent_ids) > packets.max_parents() then
    perform identity.raise_error('L9LIM',
      format('parent_ids: at most %s, got %s', packets.max_parents(), cardinality(new.parent_ids)));
  elsif greatest(octet_length(new.thread_id), octet_length(new.correlation_id),
      octet_length(new.session_id), octet_length(new.trace_id)) > packets.max_reference_bytes() then
    perform identity.raise_error('L9LIM', format('thread_id, correlation_id, session_id, trace_id: at most %s bytes each',
      packets.max_reference_bytes()), 'thread_id');
  end if;

  if tg_op = 'INSERT' or new.envelope is distinct from old.envelope then
    new.content_hash := packets.content_hash(content);
  end if;
  -- A kind that identifies its memories by fields has set it already.
  new.identity_hash := coalesce(new.identity_hash, packets.identity_of_hash(new.content_hash, content));
  return new;
end $$;
comment on function packets.tg_packet_store__normalise is 'Enforces limits with clear errors, cleans the tags, and hashes.';
grant execute on function packets.with_trimmed_speaker to l9_agent, l9_admin;
