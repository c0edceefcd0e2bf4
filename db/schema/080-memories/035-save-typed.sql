-- Saves a memory of a kind with rules: what is the same by them is updated. save_memory() calls save_typed().

create function memories.find_ended(draft public.packet_store, fields jsonb)
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
  order by p.updated_at desc, p.packet_id desc
  limit 1;
end;

comment on function memories.find_ended is
  'The memory that has these fields already but no longer an identity, such as a todo that is done, so that a '
  'repeated save adds no second one. Of several, the one that was changed last.';

create function memories.check_made_content(kind text, rules jsonb, fields jsonb, content text)
returns void
language plpgsql stable set search_path = ''
as $$
begin
  if jsonb_array_length(rules -> 'text') > 0 and content <> coalesce(kinds.text_of(rules, fields), '') then
    perform identity.raise_error('L9VAL', format('content: that of %s is made from its fields (%s); leave it out', kinds.with_article(kind),
      array_to_string(array(select jsonb_array_elements_text(rules -> 'text')), ', ')), 'content');
  end if;
end
$$;

comment on function memories.check_made_content is
  'Raises L9VAL if a caller gives a content to a memory whose kind makes it from the fields, because it would be '
  'lost.';

create function memories.restate_attestations(saved public.packet_store, given jsonb) returns public.packet_store
language plpgsql volatile set search_path = ''
as $$
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
end
$$;

comment on function memories.restate_attestations is
  'Sets the attestations that a caller gave together with a new text and that equal those of the former text, which '
  'fell with it.';

-- Computes the row as it should be and writes it only if it differs, so that a repeated save makes no version.
create function memories.update_same(same public.packet_store, draft public.packet_store, rules jsonb)
returns public.save_result
language plpgsql volatile set search_path = ''
as $$
#variable_conflict use_variable
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
  wanted := current;
  -- A field that is left out stays, one that is null goes.
  wanted.envelope := packets.typed_fields(rules, current.envelope
    || case when jsonb_array_length(rules -> 'text') > 0 then draft.envelope - 'content' else draft.envelope end);
  wanted.tags := case when cardinality(draft.tags) > 0 then draft.tags else current.tags end;
  wanted.parent_ids := current.parent_ids || array(select distinct p from unnest(draft.parent_ids) as p where p <> all (current.parent_ids));
  -- As the trigger stores it: a memory whose kind never expires needs no infinity.
  wanted.ttl := case when draft.ttl = 'infinity' and coalesce(rules -> 'expires', 'null') = 'null' then null else coalesce(draft.ttl, current.ttl) end;
  wanted.importance_score := coalesce(draft.importance_score, current.importance_score);
  wanted.metadata := current.metadata || (coalesce(draft.metadata, '{}') - '{creator,source,agent,tool_name,updated_by}'::text[]);
  wanted.routing := case when draft.routing <> '{}' then draft.routing else current.routing end;
  wanted.provenance := case when draft.provenance <> '{}' then draft.provenance else current.provenance end;
  wanted.language := coalesce(draft.language, current.language);
  wanted.thread_id := coalesce(draft.thread_id, current.thread_id);
  wanted."timestamp" := coalesce(draft."timestamp", current."timestamp");
  answer.memory := current;
  if wanted is not distinct from current then
    answer.status := 'skipped_dedupe';
    return answer;
  end if;
  update public.packet_store p set
    envelope = wanted.envelope, tags = wanted.tags, parent_ids = wanted.parent_ids, ttl = wanted.ttl, importance_score = wanted.importance_score,
    metadata = wanted.metadata, routing = wanted.routing, provenance = wanted.provenance, language = wanted.language,
    thread_id = wanted.thread_id, "timestamp" = wanted."timestamp"
  where p.packet_id = same.packet_id
  returning p.* into saved;
  if not found then
    if coalesce((rules ->> 'stands_beside')::boolean, false) then
      return null;
    end if;
    perform identity.raise_error('L9OWN', format(
      'memory %s is the same %s, and its text is by %s; only that one or an administrator may change it. Save one of your own beside it, under other %s',
      same.packet_id, same.packet_type, packets.text_writer(same),
      coalesce(nullif(array_to_string(array(select jsonb_array_elements_text(rules -> 'identity')), ', '), ''), 'words')));
  end if;
  saved := memories.restate_attestations(saved, draft.envelope);
  answer.status := 'updated';
  answer.memory := saved;
  return answer;
end
$$;

comment on function memories.update_same is
  'Changes a memory to what is stored again under its identity. The status is updated, or skipped_dedupe if nothing '
  'differs. Errors: L9OWN, L9IMM and those of a save.';

-- Looks for the memory that is the same and updates it, or else inserts; if a concurrent save was first, it looks
-- again.
create function memories.save_typed(draft public.packet_store, rules jsonb, is_beside boolean default false)
returns public.save_result
language plpgsql volatile set search_path = ''
as $$
#variable_conflict use_variable
declare
  me constant identity.identity := identity.require_identity();
  fields jsonb := packets.typed_fields(rules, draft.envelope);
  -- A memory that ends with this save, such as a todo that is done, still is the one that was open.
  hash constant bytea := kinds.identity_of(rules - 'identity_ends_when', fields, null,
    packets.text_identity(secrets.as_stored(fields ->> 'content', me.tenant_id)));
  same public.packet_store;
  saved public.packet_store;
  answer public.save_result;
  violated text;
begin
  -- That a memory is there already excuses nobody from the rights to save it.
  perform packets.check_scope(draft.scope, draft.project_id);
  for attempt in 1..3 loop
    -- One that this memory replaces is another one, even if its name is the same.
    select s.* into same from packets.find_same(draft, packets.own_identity(hash, me.creator)) s
    where coalesce((rules ->> 'stands_beside')::boolean, false);
    if not found then
      select s.* into same from packets.find_same(draft, hash) s
      where not is_beside and (not coalesce((rules ->> 'supersedes')::boolean, false)
        or s.packet_id::text is distinct from lower(fields ->> 'supersedes'));
    end if;
    if found then
      answer := memories.update_same(same, draft, rules);
      if answer.status is not null then
        return answer;
      end if;
      -- The insert below stands beside it.
    end if;
    if kinds.is_met(nullif(rules -> 'identity_ends_when', 'null'), fields) then
      select s.* into same from memories.find_ended(draft, fields) s;
      if found then
        return memories.update_same(same, draft, rules);
      end if;
    end if;
    begin
      insert into public.packet_store (
        packet_type, envelope, "timestamp", language, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, branch, scope,
        importance_score, correlation_id, session_id, trace_id)
      values (
        draft.packet_type, fields, draft."timestamp", draft.language, coalesce(draft.routing, '{}'), coalesce(draft.provenance, '{}'),
        coalesce(draft.metadata, '{}'), draft.thread_id, coalesce(draft.parent_ids, '{}'), coalesce(draft.tags, '{}'), draft.ttl,
        draft.project_id, draft.branch, draft.scope, coalesce(draft.importance_score, 0.5), draft.correlation_id, draft.session_id, draft.trace_id)
      returning * into saved;
      answer.memory := saved;
      answer.status := 'inserted';
      return answer;
    exception when unique_violation then
      -- What a trigger did for the row that was refused, such as marking one as superseded, is undone with it.
      get stacked diagnostics violated = constraint_name;
      if violated <> 'packet_content_unique' then
        raise;
      end if;
    end;
  end loop;
  raise exception using errcode = '40001', message = 'too many concurrent saves of this memory; try again';
end
$$;

comment on function memories.save_typed is
  'Saves a memory of a kind with rules, or updates the one that is the same by them. Of the draft, the columns that '
  'callers may write count; null takes the default. is_beside: one that the caller may not change is not looked '
  'for, because the new memory is to stand beside it.';

grant execute on function
  memories.restate_attestations, memories.find_ended, memories.check_made_content, memories.update_same,
  memories.save_typed
to l9_agent, l9_admin;
