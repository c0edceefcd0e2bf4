-- The change from one model to another, made as l9_worker. Its state is in the database, so the process that drives it can stop
-- anywhere.
create function embeddings.adopt_embedding_model(model text, dimensions integer) returns text
language plpgsql volatile set search_path = '' as $$
declare
  serving text;
begin
  -- If several gateways start at the same time, the first to take the lock decides.
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  serving := embeddings.serving_model();
  if serving is null
    or serving <> adopt_embedding_model.model and not exists (select from public.packet_store)
      and not exists (select from public.embedding_models m where m.state = 'arriving') then
    perform public.register_embedding_model(adopt_embedding_model.model, dimensions);
    update public.embedding_models m
    set state = case when m.model = adopt_embedding_model.model then 'serving' else 'leaving' end, state_since = clock_timestamp()
    where m.model in (adopt_embedding_model.model, serving);
    return adopt_embedding_model.model;
  end if;
  if serving = adopt_embedding_model.model then
    perform public.register_embedding_model(adopt_embedding_model.model, dimensions);
  end if;
  return serving;
end $$;
comment on function embeddings.adopt_embedding_model is 'Called at the start of a gateway. The model begins to serve if no model '
  'serves, or if there is no memory yet. Returns the model that serves.';

create function embeddings.begin_embedding_change(model text, dimensions integer) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  other text;
  missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  if embeddings.serving_model() = begin_embedding_change.model then
    perform identity.raise_error('L9VAL', format('model: %s is already serving', begin_embedding_change.model));
  end if;
  select m.model into other from public.embedding_models m where m.state = 'arriving' and m.model <> begin_embedding_change.model;
  if found then
    perform identity.raise_error('L9VAL', format('model: a change to %s is under way; finish it or abandon it', other));
  end if;
  perform public.register_embedding_model(begin_embedding_change.model, dimensions);
  -- From now on new memories wait for this model too. The change of a model that already arrives continues.
  update public.embedding_models m set state = 'arriving', state_since = clock_timestamp()
  where m.model = begin_embedding_change.model and m.state is distinct from 'arriving';
  perform embeddings.enqueue_missing_embeddings(begin_embedding_change.model);
  select count(*) into missing from embeddings.pending_embeddings q where q.model = begin_embedding_change.model;
  insert into embeddings.embedding_changes as c (model, memories_to_embed) values (begin_embedding_change.model, missing)
  on conflict on constraint embedding_changes_pkey do update set memories_to_embed = greatest(c.memories_to_embed, missing);
  return missing;
end $$;
comment on function embeddings.begin_embedding_change is 'Begins a change to another model, which then arrives: every memory, '
  'and every new one, is queued for it. A second call continues the change. Returns the number of memories that wait. Errors: '
  'L9VAL.';

create function embeddings.embedding_change()
returns table (model text, serving text, to_embed bigint, remaining bigint, refused bigint)
language sql stable set search_path = ''
begin atomic
  select m.model, embeddings.serving_model(), greatest(max(c.memories_to_embed), count(q.packet_id)), count(q.packet_id),
    count(q.packet_id) filter (where q.attempts > 0)
  from public.embedding_models m
  left join embeddings.embedding_changes c on c.model = m.model
  left join embeddings.pending_embeddings q on q.model = m.model
  where m.state = 'arriving' group by m.model;
end;
comment on function embeddings.embedding_change is 'Progress of the model change. to_embed: all memories to embed; remaining: '
  'those that still wait; refused: those of them that failed. No row if no change is under way.';

-- Counts, under a lock, the memories that would no longer be found by meaning, and switches only if they are few enough.
create function embeddings.switch_embedding_model(model text, allow_missing bigint default 0) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  serving text;
  missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  serving := embeddings.serving_model();
  if serving = switch_embedding_model.model then
    return 0;
  elsif not exists (
      select from public.embedding_models m where m.model = switch_embedding_model.model and m.state = 'arriving') then
    perform identity.raise_error('L9VAL', format('model: %s is not arriving', switch_embedding_model.model));
  end if;
  -- A memory that can be found by meaning must stay so. Memories that were saved just now wait for both models, and do not count.
  select count(*) into missing
  from public.packet_store p
  where (p.ttl is null or p.ttl > now())
    and exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = serving)
    -- A memory that waits no longer and has no vector is a text of which the model knows nothing.
    and exists (
      select from embeddings.pending_embeddings q where q.packet_id = p.packet_id and q.model = switch_embedding_model.model)
    and not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = switch_embedding_model.model);
  if missing > allow_missing then
    perform embeddings.enqueue_missing_embeddings(switch_embedding_model.model);
    return missing;
  end if;
  update public.embedding_models m
  set state = case when m.model = switch_embedding_model.model then 'serving' else 'leaving' end, state_since = clock_timestamp()
  where m.model in (switch_embedding_model.model, serving);
  delete from embeddings.pending_embeddings q where q.model = serving;
  delete from embeddings.embedding_changes c where c.model = switch_embedding_model.model;
  return 0;
end $$;
comment on function embeddings.switch_embedding_model is 'Makes the arriving model serve, in one update, if at most '
  'allow_missing memories can no longer be found by meaning afterwards, and returns 0. Otherwise it changes nothing and returns '
  'the number of those memories. Errors: L9VAL.';

create function embeddings.abandon_embedding_change() returns text language plpgsql volatile set search_path = '' as $$
declare
  abandoned text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  update public.embedding_models m set state = 'leaving', state_since = clock_timestamp()
  where m.state = 'arriving' returning m.model into abandoned;
  delete from embeddings.pending_embeddings q where q.model = abandoned;
  delete from embeddings.embedding_changes c where c.model = abandoned;
  return abandoned;
end $$;
comment on function embeddings.abandon_embedding_change is 'Abandons the change that is under way; the vectors made for it will '
  'be deleted. Returns the model, or null if no change was under way.';
grant execute on function embeddings.adopt_embedding_model, embeddings.begin_embedding_change, embeddings.embedding_change,
  embeddings.switch_embedding_model, embeddings.abandon_embedding_change to l9_worker;
