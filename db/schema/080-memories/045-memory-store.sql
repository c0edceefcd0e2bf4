create type public.stored_item as (
  index integer, status text, packet_id uuid, kind text, project_id text, branch text, created_at timestamptz, sqlstate text, field text, message text);
comment on type public.stored_item is 'What became of one item of memory_store: it has a status and a memory, or an error.';
comment on column public.stored_item.index is 'The place of the item in the list, from 0.';
comment on column public.stored_item.status is 'inserted, updated or skipped_dedupe; null if the item was not stored.';
comment on column public.stored_item.packet_id is 'The memory: the new one, or the one that is the same.';
comment on column public.stored_item.kind is 'The kind of the item.';
comment on column public.stored_item.project_id is 'The project that it belongs to, or null.';
comment on column public.stored_item.branch is 'The branch that it holds for; null for every branch.';
comment on column public.stored_item.created_at is 'When the memory was first saved.';
comment on column public.stored_item.sqlstate is 'The code of the error; null if the item was stored.';
comment on column public.stored_item.field is 'The field that the error is about, or null.';
comment on column public.stored_item.message is 'What is wrong and what is valid.';

create function memories.max_items()
returns integer
language sql
immutable
parallel safe
return 500;

comment on function memories.max_items() is 'The most items of one call of memory_store.';

create function memories.is_fault_of_item(sqlstate text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
-- Any other error, such as a deadlock or a full disk, is no fault of the item: the whole call is repeated or fails.
return sqlstate ~ '^(L9|22|23|54)' or sqlstate = '42501';

comment on function memories.is_fault_of_item(text) is 'True if an error with this code is one of the item that was being stored.';

create function memories.error_of_item(index integer, item jsonb, sqlstate text, message text, field text)
returns public.stored_item
language plpgsql
immutable
set search_path = ''
as $$
declare
  answer public.stored_item;
  -- Citations are stored as parents; the writer is told of the lists that it gave.
  given constant text[] := array(
    select f from unnest('{parent_ids,citations}'::text[]) as f where jsonb_typeof(item) = 'object' and coalesce(item -> f, 'null') not in ('null', '[]'));
begin
  if field = 'parent_ids' and cardinality(given) > 0 then
    field := given[1];
    message := replace(message, 'parent_ids:', array_to_string(given, ', ') || ':');
  end if;
  -- What is stored as the envelope is data in an item.
  if field ~ '^envelope($|\.)' then
    message := regexp_replace(message, '^envelope(\.|(?=:))', case when field = 'envelope' then 'data' else '' end);
    field := coalesce(substring(field from '^envelope\.(.+)'), 'data');
  end if;
  answer.index := index;
  answer.kind := case when jsonb_typeof(item) = 'object' then left(item ->> 'kind', 63) end;
  answer.sqlstate := sqlstate;
  answer.field := nullif(field, '');
  -- Texts of PostgreSQL's own errors may quote values.
  answer.message := case when sqlstate ~ '^L9' then message
    when sqlstate = '23505' then 'data: another memory of this scope, project and kind has this content, or the fields that identify it'
    else 'the item could not be stored' end;
  return answer;
end
$$;

comment on function memories.error_of_item(integer, jsonb, text, text, text) is 'The error of an item as memory_store answers it.';

create function memories.approve_document(packet_id uuid, approval jsonb)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
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
end
$$;

comment on function memories.approve_document(uuid, jsonb) is
  'Sets approved_at and approved_by of a document. True if that changes it. Errors: L9OWN, L9IMM if it is approved otherwise already, L9VAL, L9LIM.';

create function memories.restore_ttl(memory public.packet_store)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
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
end
$$;

comment on function memories.restore_ttl(public.packet_store) is
  'Gives a memory the ttl that its kind and fields say, in place of one of its own. True if that changes it. Errors: L9OWN.';

create function memories.store_item(index integer, item jsonb, draft public.packet_store)
returns public.stored_item
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  answer public.stored_item;
  saved public.save_result;
  body constant text := case when draft.packet_type = 'document' then draft.envelope ->> 'body_md' end;
  -- An approved document is locked, so it gets its text before its approval.
  approval constant jsonb := case when body is not null and coalesce(draft.envelope -> 'approved_at', 'null') <> 'null' then (
    select jsonb_object_agg(f.key, f.value) from jsonb_each(draft.envelope) as f where f.key in ('approved_at', 'approved_by')) end;
  is_changed boolean;
begin
  if approval is not null then
    draft.envelope := draft.envelope - '{approved_at,approved_by}'::text[];
  end if;
  saved := public.save_memory(
    content => draft.envelope ->> 'content', scope => draft.scope, project_id => draft.project_id, branch => coalesce(draft.branch, '*'), kind => draft.packet_type,
    tags => draft.tags, parent_ids => draft.parent_ids, ttl => draft.ttl, idempotency_key => item ->> 'idempotency_key',
    thread_id => draft.thread_id, "timestamp" => draft."timestamp", language => draft.language, metadata => draft.metadata,
    envelope => draft.envelope - 'content' - case when body is not null then 'body_md' else 'content' end);
  if item ->> 'ttl_policy' = 'default' and saved.status <> 'inserted' then
    -- In a statement of its own: beside a condition that is known to be false it might not be called.
    is_changed := memories.restore_ttl(saved.memory);
    if is_changed then
      saved.status := 'updated';
    end if;
  end if;
  if body is not null then
    is_changed := documents.store_body(saved.memory, body);
    if is_changed and saved.status = 'skipped_dedupe' then
      saved.status := 'updated';
    end if;
  end if;
  if approval is not null then
    is_changed := memories.approve_document((saved.memory).packet_id, approval);
    if is_changed and saved.status = 'skipped_dedupe' then
      saved.status := 'updated';
    end if;
  end if;
  answer.index := index;
  answer.status := saved.status;
  answer.packet_id := (saved.memory).packet_id;
  answer.kind := draft.packet_type;
  answer.project_id := (saved.memory).project_id;
  answer.branch := (saved.memory).branch;
  answer.created_at := (saved.memory).created_at;
  return answer;
end
$$;

comment on function memories.store_item(integer, jsonb, public.packet_store) is 'Stores one item of memory_store.';

create function memories.insert_drafts(places integer[], drafts public.packet_store[], hashes bytea[])
returns setof public.stored_item
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  half constant integer := cardinality(places) / 2;
begin
  if half = 0 and cardinality(places) = 0 then
    return;
  end if;
  begin
    return query
      with given as materialized (
        select d.packet_type, d.envelope, d.tags, d.parent_ids, d.ttl, d.project_id, d.branch, d.scope, d.thread_id, d."timestamp", d.language,
          d.metadata, d.ordinality, h.place, h.hash
        from unnest(drafts) with ordinality as d
        join unnest(places, hashes) with ordinality as h (place, hash, ordinality) using (ordinality)
      ), inserted as (
        insert into public.packet_store (
          packet_type, envelope, tags, parent_ids, ttl, project_id, branch, scope, thread_id, "timestamp", language, metadata)
        select g.packet_type, g.envelope, g.tags, g.parent_ids, g.ttl, g.project_id, g.branch, g.scope, g.thread_id, g."timestamp", g.language, g.metadata
        from given g
        order by g.ordinality
        on conflict do nothing
        returning packet_id, packet_type, identity_hash, scope, project_id, branch, created_at
      )
      select g.place, 'inserted', i.packet_id, i.packet_type, i.project_id, i.branch, i.created_at, null::text, null::text, null::text
      from inserted i
      join given g on g.hash = i.identity_hash and g.packet_type = i.packet_type and g.scope = i.scope
        and (g.project_id, g.branch) is not distinct from (i.project_id, i.branch)
      -- What RETURN QUERY has returned stays where the exception is caught, so no row may come before all are inserted.
      order by g.place;
    return;
  exception
    when others then
      if not memories.is_fault_of_item(sqlstate) then
        raise;
      end if;
      -- One of them is refused. Those of the half without it need not wait for it to be found.
      if half = 0 then
        return;
      end if;
  end;
  return query select * from memories.insert_drafts(places[:half], drafts[:half], hashes[:half]);
  return query select * from memories.insert_drafts(places[half + 1:], drafts[half + 1:], hashes[half + 1:]);
end
$$;

comment on function memories.insert_drafts(integer[], public.packet_store[], bytea[]) is
  'Inserts new memories in as few statements as possible and returns those that were. The others are refused, or exist already: they are stored one at a time, which tells why.';

create function public.memory_store(items jsonb, all_or_nothing boolean default false, refused jsonb default '{}')
returns setof public.stored_item
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me constant identity.identity := identity.require_identity();
  answers public.stored_item[] := '{}';
  answered boolean[];
  drafts public.packet_store[] := '{}';
  draft public.packet_store;
  places integer[] := '{}';
  new_drafts public.packet_store[] := '{}';
  hashes bytea[] := '{}';
  item jsonb;
  place integer;
  rules jsonb;
  rules_of_kind jsonb := '{}';
  fields jsonb;
  field text;
  hash bytea;
  identity text;
  waits boolean;
  identities text[] := '{}';
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) = 0 then
    perform identity.raise_error('L9VAL', 'items: must be a list of 1 to 500 items', 'items');
  elsif jsonb_array_length(items) > memories.max_items() then
    perform identity.raise_error('L9LIM', format('items: at most %s, got %s', memories.max_items(), jsonb_array_length(items)), 'items');
  end if;
  if jsonb_typeof(refused) is distinct from 'object' then
    perform identity.raise_error('L9VAL', 'refused: must be an object from the index of an item to its error', 'refused');
  end if;
  answered := array_fill(false, array[jsonb_array_length(items)], array[0]);
  begin
    -- What is wrong in itself is found first, without writing anything. New memories are then inserted together.
    for place, item in select e.ordinality - 1, e.value from jsonb_array_elements(items) with ordinality as e loop
      begin
        drafts[place] := null;
        if refused ? place::text then
          perform identity.raise_error(
            coalesce(refused #>> array[place::text, 'sqlstate'], 'L9VAL'), refused #>> array[place::text, 'message'], refused #>> array[place::text, 'field']);
        end if;
        draft := memories.draft_of(item);
        drafts[place] := draft;
        if not rules_of_kind ? draft.packet_type then
          rules_of_kind := rules_of_kind || jsonb_build_object(draft.packet_type, kinds.rules_of(draft.packet_type, me.tenant_id));
        end if;
        rules := nullif(rules_of_kind -> draft.packet_type, 'null');
        waits := coalesce(item ->> 'idempotency_key', '') <> '';
        if not waits then
          perform memories.check_draft(draft, rules); -- A repeated request is answered as at first, whatever has changed since.
        end if;
        continue when draft.packet_type = 'message';
        fields := draft.envelope;
        if rules is not null then
          fields := packets.typed_fields(rules, draft.envelope);
        end if;
        hash := kinds.identity_of(
          coalesce(rules - 'identity_ends_when', '{"identity": []}'), fields, null, packets.content_hash(secrets.as_stored(fields ->> 'content', me.tenant_id)));
        -- Items that are the same are stored in their order, so all but the first wait.
        identity := concat_ws(' ', encode(hash, 'hex'), draft.packet_type, draft.scope, draft.project_id, draft.branch);
        waits := waits or identity = any (identities) or draft.envelope ?| '{supersedes,body_md}'
          or kinds.is_met(nullif(rules -> 'identity_ends_when', 'null'), draft.envelope);
        identities := identities || identity;
        continue when waits;
        places := places || place;
        new_drafts := new_drafts || draft;
        hashes := hashes || hash;
      exception when others then
        if not memories.is_fault_of_item(sqlstate) then
          raise;
        end if;
        get stacked diagnostics field = column_name;
        answers := answers || memories.error_of_item(place, item, sqlstate, sqlerrm, field);
        answered[place] := true;
      end;
    end loop;
    select answers || coalesce(array_agg(i), '{}') into answers from memories.insert_drafts(places, new_drafts, hashes) as i;
    for place in select (a).index from unnest(answers) as a loop
      answered[place] := true;
    end loop;
    for place, item in
      select e.ordinality - 1, e.value from jsonb_array_elements(items) with ordinality as e where not answered[e.ordinality - 1]
    loop
      begin
        answers := answers || memories.store_item(place, item, drafts[place]);
      exception when others then
        if not memories.is_fault_of_item(sqlstate) then
          raise;
        end if;
        get stacked diagnostics field = column_name;
        answers := answers || memories.error_of_item(place, item, sqlstate, sqlerrm, field);
      end;
    end loop;
    if all_or_nothing and exists (select from unnest(answers) as a where a.sqlstate is not null) then
      raise exception using errcode = 'ABORT';
    end if;
  exception when sqlstate 'ABORT' then
    -- Everything is undone but the list of what was wrong.
    answers := array(select a from unnest(answers) as a where a.sqlstate is not null);
  end;
  -- A failing call is audited by who made it, after its transaction; here the transaction goes on.
  perform audit.audit_refusal('INSERT', null, items -> a.index ->> 'project_id', items -> a.index ->> 'scope', a.sqlstate, jsonb_build_object('item', a.index, 'field', a.field))
  from unnest(answers) as a where a.sqlstate is not null;
  return query select * from unnest(answers) as a order by a.index;
end
$$;

comment on function public.memory_store(jsonb, boolean, jsonb) is
  'Stores 1 to 500 memories in one transaction and answers for each, in order, what became of it. An item is {kind, data, scope, project_id, branch, tags, thread_id, speaker, language, timestamp, idempotency_key, ttl_policy, parent_ids, citations}; data has the fields of the kind (memory_kinds), of a free kind the text as content. Storing again what is the same updates it, or is skipped_dedupe if nothing differs. An item that fails keeps no other from being stored, unless all_or_nothing is true: then nothing is stored, and the answer holds the errors alone. ttl_policy: default (that of the kind, also where a memory had another one), short (a day), long (90 days), permanent. citations: ids of memories that it rests on, which become parents, too. refused: errors that the caller has found itself, from the index of an item to {sqlstate, message, field}: such an item is not stored. Each refused item is audited. Errors of the call: L9VAL, L9LIM, L9AUT.';

grant execute on function
  memories.max_items(), memories.is_fault_of_item(text), memories.error_of_item(integer, jsonb, text, text, text),
  memories.approve_document(uuid, jsonb), memories.restore_ttl(public.packet_store), memories.store_item(integer, jsonb, public.packet_store),
  memories.insert_drafts(integer[], public.packet_store[], bytea[]), public.memory_store(jsonb, boolean, jsonb)
to l9_agent, l9_admin;
