-- The operation memory_store, which stores up to 500 items: new memories together, all others one by one.
create function memories.max_items() returns integer language sql immutable parallel safe return 500;
comment on function memories.max_items is 'The most items of one call of memory_store.';

-- Inserts all of them at once. If that is refused, it calls itself for each half, until only refused ones are left out.
create function memories.insert_drafts(places integer[], drafts public.packet_store[], hashes bytea[])
returns setof public.stored_item
language plpgsql volatile set search_path = '' as $$
declare
  half constant integer := cardinality(places) / 2;
begin
  if half = 0 and cardinality(places) = 0 then
    return;
  end if;
  begin
    return query
      with given as materialized (
        select d.packet_type, d.envelope, d.tags, d.parent_ids, d.ttl, d.project_id, d.branch, d.scope, d.thread_id,
          d."timestamp", d.language, d.metadata, d.ordinality, h.place, h.hash
        from unnest(drafts) with ordinality as d
        join unnest(places, hashes) with ordinality as h (place, hash, ordinality) using (ordinality)
      ), inserted as (
        insert into public.packet_store (
          packet_type, envelope, tags, parent_ids, ttl, project_id, branch, scope, thread_id, "timestamp", language, metadata)
        select g.packet_type, g.envelope, g.tags, g.parent_ids, g.ttl, g.project_id, g.branch, g.scope, g.thread_id,
          g."timestamp", g.language, g.metadata
        from given g order by g.ordinality on conflict do nothing
        returning packet_id, packet_type, identity_hash, scope, project_id, branch, created_at, updated_at
      )
      select g.place, 'inserted', i.packet_id, i.packet_type, i.project_id, i.branch, i.created_at, null::text, null::text,
        null::text, null::jsonb, false, i.updated_at, null::jsonb, null::text
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
end $$;
comment on function memories.insert_drafts is 'Inserts new memories in as few statements as possible and returns those that '
  'were. The others are refused, or exist already: they are stored one at a time, which tells why.';

-- Checks all items without writing, inserts the new ones together, and stores the others one by one, each in a subtransaction.
create function public.memory_store(
  items jsonb, all_or_nothing boolean default false, refused jsonb default '{}', sections integer default null,
  first_index integer default 0, is_continued boolean default false) returns setof public.stored_item
language plpgsql volatile set search_path = '' as $$
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
  kind_notices jsonb;
  fields jsonb;
  field text;
  detail text;
  hash bytea;
  identity text;
  waits boolean;
  identities text[] := '{}';
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) = 0 then
    perform identity.raise_error('L9VAL', 'items: must be a list of 1 to 500 items');
  elsif jsonb_array_length(items) > memories.max_items() then
    perform identity.raise_error('L9LIM', format('items: at most %s, got %s', memories.max_items(), jsonb_array_length(items)));
  end if;
  if jsonb_typeof(refused) is distinct from 'object' then
    perform identity.raise_error('L9VAL', 'refused: must be an object from the index of an item to its error');
  end if;
  perform set_config('l9.writes_left', coalesce(sections::text, ''), true);
  perform set_config('l9.is_continued', coalesce(is_continued, false)::text, true);
  items := memories.given_items(items);
  answered := array_fill(false, array[jsonb_array_length(items)], array[0]);
  begin
    -- What is wrong in itself is found first, without writing anything. New memories are then inserted together.
    for place, item in select e.ordinality - 1, e.value from jsonb_array_elements(items) with ordinality as e loop
      begin
        drafts[place] := null;
        if refused ? place::text then
          perform identity.raise_error(
            coalesce(refused #>> array[place::text, 'sqlstate'], 'L9VAL'), refused #>> array[place::text, 'message'],
              coalesce(refused #>> array[place::text, 'field'], ''));
        end if;
        draft := memories.draft_of(item);
        drafts[place] := draft;
        if not rules_of_kind ? draft.packet_type then
          rules_of_kind := rules_of_kind
            || jsonb_build_object(draft.packet_type, kinds.rules_of(draft.packet_type, me.tenant_id));
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
        hash := memories.identity_of(rules, fields);
        -- Items that are the same are stored in their order, so all but the first wait.
        identity := concat_ws(' ', encode(hash, 'hex'), draft.packet_type, draft.scope, draft.project_id, draft.branch);
        waits := waits or identity = any (identities) or draft.envelope ?| '{supersedes,body_md}' or item ? 'expected_version'
          or coalesce((rules ->> 'stands_beside')::boolean, false) or memories.awaits_review(draft)
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
        get stacked diagnostics field = column_name, detail = pg_exception_detail;
        answers := answers || memories.error_of_item(place, item, sqlstate, sqlerrm, field, detail);
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
        get stacked diagnostics field = column_name, detail = pg_exception_detail;
        answers := answers || memories.error_of_item(place, item, sqlstate, sqlerrm, field, detail);
      end;
    end loop;
    if all_or_nothing and exists (select from unnest(answers) as a where a.sqlstate is not null) then
      raise exception using errcode = 'ABORT';
    end if;
  exception when sqlstate 'ABORT' then
    -- Everything is undone but the list of what was wrong.
    answers := array(select a from unnest(answers) as a where a.sqlstate is not null);
  end;
  -- A failing call is audited by who made it, after its transaction; here the transaction goes on. Equal refusals share a row.
  perform audit.audit_refusal('INSERT', null, r.project_id, r.scope, r.sqlstate, jsonb_strip_nulls(jsonb_build_object(
    'field', r.field, 'items', r.places, 'times', case when r.times > 1 then r.times end)))
  from (
    select items -> a.index ->> 'project_id' as project_id, items -> a.index ->> 'scope' as scope, a.sqlstate, a.field,
      jsonb_agg(a.index + first_index order by a.index) as places, count(*) as times
    from unnest(answers) as a
    where a.sqlstate is not null group by 1, 2, 3, 4) r;
  kind_notices := (
    select jsonb_object_agg(k.key, kinds.kind_notice(k.key)) from jsonb_each(rules_of_kind) as k where k.value = 'null');
  return query
    select a.index, a.status, a.packet_id, a.kind, a.project_id, a.branch, a.created_at, a.sqlstate, a.field, a.message,
      a.findings, a.is_unfinished, a.updated_at, case when a.sqlstate = 'L9VER' then memories.present_state(a.packet_id) end,
      case when a.status is not null then
        memories.save_notice(drafts[a.index], (drafts[a.index]).envelope ->> 'content',
          kind_notices ->> (drafts[a.index]).packet_type) end
    from unnest(answers) as a order by a.index;
end $$;
comment on function public.memory_store is 'Stores 1 to 500 items; answers for each. An item has kind, data (the fields of the '
  'kind, or content), scope, project_id, branch, tags, thread_id, speaker, language, timestamp, idempotency_key, ttl_policy, '
  'parent_ids, citations, expected_version. One that fails stops no other, unless all_or_nothing. refused, sections, '
  'first_index, is_continued: by the gateway. Errors: L9VAL, L9LIM, L9AUT.';
grant execute on function memories.max_items, memories.insert_drafts, public.memory_store to l9_agent, l9_admin;
