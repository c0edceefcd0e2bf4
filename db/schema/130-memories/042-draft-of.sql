-- Reads the items of memory_store(): each becomes a draft, which is a row of packet_store that is not stored yet, or
-- raises an error.
create function memories.check_list(item jsonb, field text, most integer) returns text[]
language plpgsql immutable set search_path = '' as $$
declare
  given constant jsonb := nullif(item -> field, 'null');
begin
  if given is null then
    return '{}';
  elsif jsonb_typeof(given) <> 'array' or jsonb_path_exists(given, 'strict $[*] ? (@.type() != "string")') then
    perform identity.raise_error('L9VAL', format('%s: must be a list of texts', field));
  elsif jsonb_array_length(given) > most then
    perform identity.raise_error('L9LIM', format('%s: at most %s, got %s', field, most, jsonb_array_length(given)));
  end if;
  return array(select jsonb_array_elements_text(given));
end $$;

create function memories.check_ids(item jsonb, field text) returns uuid[] language plpgsql immutable set search_path = '' as $$
declare
  ids constant text[] := memories.check_list(item, field, packets.max_parents());
begin
  if exists (select from unnest(ids) as i where not pg_input_is_valid(i, 'uuid')) then
    perform identity.raise_error('L9VAL', format('%s: must be a list of ids of memories', field));
  end if;
  return ids::uuid[];
end $$;
comment on function memories.check_list is 'The texts of a list in an item; raises L9VAL or L9LIM if it is not a list.';
comment on function memories.check_ids is 'The ids of a list in an item; raises L9VAL or L9LIM if it is not a list.';

create function memories.given_items(items jsonb) returns jsonb language sql immutable parallel safe set search_path = ''
-- In data, null removes a field.
return (
  select pg_catalog.jsonb_agg(
    case when pg_catalog.jsonb_typeof(i.item) <> 'object' then i.item
      else coalesce(identity.given_object(i.item - 'data'), '{}')
        || case when i.item ? 'data' then pg_catalog.jsonb_build_object('data', i.item -> 'data') else '{}' end
    end order by i.place)
  from pg_catalog.jsonb_array_elements(items) with ordinality as i (item, place));
comment on function memories.given_items is 'The items of a call, without their fields that are left out.';

create function memories.item_fields() returns text[] language sql immutable parallel safe
return array[
  'kind', 'data', 'scope', 'project_id', 'branch', 'tags', 'thread_id', 'speaker', 'language', 'timestamp', 'idempotency_key',
  'ttl_policy', 'parent_ids', 'citations', 'expected_version'];
comment on function memories.item_fields is 'The fields of an item of memory_store.';

create function memories.with_title(fields jsonb) returns jsonb language plpgsql immutable set search_path = '' as $$
declare
  body constant text := fields ->> 'body_md';
begin
  if body is not null and identity.is_blank(coalesce(fields ->> 'title', '')) then
    perform documents.check_body(body);
    fields := jsonb_strip_nulls(fields || jsonb_build_object('title', documents.title_of(body, fields ->> 'source_url')));
  end if;
  if jsonb_typeof(fields -> 'aliases') = 'array' and fields -> 'aliases' <> '[]'
    and coalesce(fields -> 'content', 'null') = 'null' then
    return fields || jsonb_build_object('content', concat_ws(E'\n\n', fields ->> 'title', kinds.as_text(fields -> 'aliases')));
  end if;
  return fields;
end $$;
comment on function memories.with_title is 'A document''s fields with a title from its text, and found by its aliases.';

-- Checks the form of an item; what its fields mean is checked by the kind and the triggers when it is stored.
create function memories.draft_of(item jsonb) returns public.packet_store language plpgsql stable set search_path = '' as $$
declare
  draft public.packet_store;
  field text;
begin
  if jsonb_typeof(item) <> 'object' then
    perform identity.raise_error('L9VAL', 'items: each must be an object');
  end if;
  field := (select min(k) from jsonb_object_keys(item) as k where k <> all (memories.item_fields()));
  if field is not null then
    perform identity.raise_error('L9VAL', format(
      '%s: is no field of an item; it has %s', left(field, 63), array_to_string(memories.item_fields(), ', ')), left(field, 63));
  end if;
  foreach field in array array['kind', 'scope', 'project_id', 'branch', 'thread_id', 'speaker', 'language', 'timestamp',
    'idempotency_key', 'ttl_policy', 'expected_version'] loop
    if jsonb_typeof(item -> field) not in ('string', 'null') then
      perform identity.raise_error('L9VAL', format('%s: must be a text', field));
    end if;
  end loop;
  if jsonb_typeof(item -> 'data') is distinct from 'object' then
    perform identity.raise_error('L9VAL', 'data: must be an object with the fields of the kind');
  end if;
  draft.packet_type := coalesce(item ->> 'kind', 'note');
  draft.envelope := item -> 'data';
  -- It becomes sections and is no field, so the kind does not check it.
  if draft.packet_type = 'document' and jsonb_typeof(draft.envelope -> 'body_md') not in ('string', 'null') then
    perform identity.raise_error('L9VAL', 'body_md: must be a text');
  elsif draft.packet_type = 'document' then
    draft.envelope := memories.with_title(draft.envelope);
  end if;
  draft.scope := coalesce(item ->> 'scope', 'developer');
  draft.project_id := packets.project_or_default(item ->> 'project_id', draft.scope);
  draft.branch := packets.branch_or_default(item ->> 'branch', draft.project_id);
  draft.thread_id := item ->> 'thread_id';
  draft.language := item ->> 'language';
  draft.metadata := jsonb_strip_nulls(jsonb_build_object('speaker', item ->> 'speaker'));
  draft."timestamp" := kinds.field_time(item -> 'timestamp');
  if draft."timestamp" is null and item ->> 'timestamp' is not null then
    perform identity.raise_error('L9VAL', 'timestamp: must be a time as in 2026-12-31T23:59:59Z');
  end if;
  if kinds.field_time(item -> 'expected_version') is null and item ->> 'expected_version' is not null then
    perform identity.raise_error('L9VAL',
      'expected_version: must be the updated_at of the memory, as in 2026-12-31T23:59:59.123456Z');
  elsif draft.packet_type = 'message' and item ->> 'expected_version' is not null then
    perform identity.raise_error('L9VAL', 'expected_version: a message is another turn and changes none');
  end if;
  draft.tags := memories.check_list(item, 'tags', packets.max_tags());
  -- What a memory cites is what it rests on, too.
  draft.parent_ids := array(
    select distinct i from unnest(memories.check_ids(item, 'parent_ids') || memories.check_ids(item, 'citations')) as i);
  draft.ttl := case coalesce(item ->> 'ttl_policy', 'default')
    when 'short' then now() + interval '1 day' when 'long' then now() + interval '90 days' when 'permanent' then 'infinity' end;
  if item ->> 'ttl_policy' not in ('default', 'short', 'long', 'permanent') then
    perform identity.raise_error('L9VAL', 'ttl_policy: must be default, short, long or permanent');
  end if;
  return draft;
end $$;
comment on function memories.draft_of is 'The memory that an item of memory_store describes. Raises L9VAL or L9LIM.';

create function memories.check_draft(draft public.packet_store, rules jsonb) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform packets.check_scope(draft.scope, draft.project_id);
  if rules is not null then
    perform memories.check_made_content(draft.packet_type, rules, draft.envelope, draft.envelope ->> 'content');
  elsif draft.packet_type = 'note' and draft.envelope -> 'content' is null then
    perform identity.raise_error('L9VAL', 'content: a note has its text in data.content');
  end if;
end $$;
comment on function memories.check_draft is 'Raises the errors of an item that can be known before it is stored.';
grant execute on function memories.check_list, memories.check_ids, memories.given_items, memories.item_fields,
  memories.with_title, memories.draft_of, memories.check_draft to l9_agent, l9_admin;
