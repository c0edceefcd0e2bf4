-- From one model to another, as l9_worker. The state is the database's, so whoever drives it can stop anywhere.

create table embeddings.embedding_changes (
  model text primary key references public.embedding_models on delete cascade,
  began_at timestamptz not null default now(),
  memories_to_embed bigint not null,
  constraint embedding_change_not_negative check (memories_to_embed >= 0)
);

comment on table embeddings.embedding_changes is
  'How much a change to a model has to do. Apart from embedding_models, since it counts the memories of all tenants.';
comment on column embeddings.embedding_changes.model is 'The model that arrives.';
comment on column embeddings.embedding_changes.began_at is 'When it began to.';
comment on column embeddings.embedding_changes.memories_to_embed is 'How many memories had no vector of it then.';

alter table embeddings.embedding_changes enable row level security;
alter table embeddings.embedding_changes force row level security;

create policy worker_access on embeddings.embedding_changes to l9_worker using (true);
create policy definer_functions on embeddings.embedding_changes to l9_owner using (true);
comment on policy worker_access on embeddings.embedding_changes is 'The change from one model to another is the jobs'' to make.';
comment on policy definer_functions on embeddings.embedding_changes is 'drop_embedding_model() takes its row away with the model.';

grant select, insert (model, memories_to_embed), update (memories_to_embed), delete on embeddings.embedding_changes to l9_worker;

create function embeddings.adopt_embedding_model(model text, dimensions integer)
returns text
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  serving text;
begin
  -- Of several gateways that start at once, one decides.
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
end
$$;

comment on function embeddings.adopt_embedding_model(text, integer) is
  'For the start of a gateway: the model serves where none does, or where there is no memory yet. Returns the model that serves.';

create function embeddings.begin_embedding_change(model text, dimensions integer)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  other text;
  missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  if embeddings.serving_model() = begin_embedding_change.model then
    perform identity.raise_error('L9VAL', format('model: %s serves already', begin_embedding_change.model), 'model');
  end if;
  select m.model into other from public.embedding_models m where m.state = 'arriving' and m.model <> begin_embedding_change.model;
  if found then
    perform identity.raise_error('L9VAL', format('model: a change to %s is under way; finish it or abandon it', other), 'model');
  end if;
  perform public.register_embedding_model(begin_embedding_change.model, dimensions);
  -- From here on new memories wait for this model too. One that is arriving goes on where it was.
  update public.embedding_models m set state = 'arriving', state_since = clock_timestamp()
  where m.model = begin_embedding_change.model and m.state is distinct from 'arriving';
  perform embeddings.enqueue_missing_embeddings(begin_embedding_change.model);
  select count(*) into missing from embeddings.pending_embeddings q where q.model = begin_embedding_change.model;
  insert into embeddings.embedding_changes as c (model, memories_to_embed) values (begin_embedding_change.model, missing)
  on conflict on constraint embedding_changes_pkey do update set memories_to_embed = greatest(c.memories_to_embed, missing);
  return missing;
end
$$;

comment on function embeddings.begin_embedding_change(text, integer) is
  'Lets a model arrive: every memory is put on the list of those that wait for its vector, new ones as they come. Again: goes on. Returns how many wait.';

create function embeddings.embedding_change()
returns table (model text, serving text, to_embed bigint, remaining bigint, refused bigint)
language sql
stable
set search_path = ''
begin atomic
  select m.model, embeddings.serving_model(), greatest(max(c.memories_to_embed), count(q.packet_id)), count(q.packet_id),
    count(q.packet_id) filter (where q.attempts > 0)
  from public.embedding_models m
  left join embeddings.embedding_changes c on c.model = m.model
  left join embeddings.pending_embeddings q on q.model = m.model
  where m.state = 'arriving'
  group by m.model;
end;

comment on function embeddings.embedding_change() is
  'How far the change to another model is: memories in all, those that still wait, and those of them that its embedder refused. No row: no change is under way.';

create function embeddings.switch_embedding_model(model text, allow_missing bigint default 0)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
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
    perform identity.raise_error('L9VAL', format('model: %s is not arriving', switch_embedding_model.model), 'model');
  end if;
  -- What can be found by meaning must stay so. What was saved a moment ago waits for either model.
  select count(*) into missing
  from public.packet_store p
  where (p.ttl is null or p.ttl > now())
    and exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = serving)
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
end
$$;

comment on function embeddings.switch_embedding_model(text, bigint) is
  'Lets the model that arrives serve, in one update, if no more than allow_missing memories would be lost to search by meaning; else changes nothing and returns how many would. 0: it serves.';

create function embeddings.abandon_embedding_change()
returns text
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  abandoned text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  update public.embedding_models m set state = 'leaving', state_since = clock_timestamp()
  where m.state = 'arriving' returning m.model into abandoned;
  delete from embeddings.pending_embeddings q where q.model = abandoned;
  delete from embeddings.embedding_changes c where c.model = abandoned;
  return abandoned;
end
$$;

comment on function embeddings.abandon_embedding_change() is
  'Gives up a change that is under way: the vectors made for it are dropped. Returns the model; null where there was none.';

create function embeddings.drop_leaving_vectors(model text, batch_size integer, after uuid default null)
returns table (dropped bigint, last_packet_id uuid)
language sql
volatile
set search_path = ''
-- By packet, so that the next batch does not walk over what this one deleted.
set enable_seqscan = off
begin atomic
  with batch as (
    select e.embedding_id, e.packet_id from public.memory_embeddings e
    where e.model = drop_leaving_vectors.model and (after is null or e.packet_id > after)
      and exists (select from public.embedding_models m where m.model = e.model and m.state = 'leaving')
    order by e.packet_id
    limit batch_size
  ), gone as (
    delete from public.memory_embeddings e using batch b where e.embedding_id = b.embedding_id
    returning e.packet_id
  )
  -- There is no greatest uuid among the aggregates.
  select count(*), (array_agg(g.packet_id order by g.packet_id desc))[1] from gone g;
end;

comment on function embeddings.drop_leaving_vectors(text, integer, uuid) is
  'Deletes up to batch_size vectors of a model that leaves, after those of the packet given; returns how many, and the last packet.';

create function embeddings.drop_embedding_model(model text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
-- To drop an index nobody may be using the table. Rather later than have everyone wait behind us.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  index_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  perform from public.embedding_models m where m.model = drop_embedding_model.model and m.state = 'leaving' for update;
  if not found or exists (select from public.memory_embeddings e where e.model = drop_embedding_model.model) then
    return false;
  end if;
  for index_name in
    select format('%I.%I', 'public', i.name) from embeddings.embedding_indexes(drop_embedding_model.model) as i
  loop
    execute format('drop index if exists %s', index_name);
  end loop;
  delete from public.embedding_models m where m.model = drop_embedding_model.model;
  return true;
end
$$;

comment on function embeddings.drop_embedding_model(text) is
  'Drops the indexes and the row of a model that leaves, once it has no vectors; false where it has some, or does not leave. Definer: only the owner of the table drops indexes.';

grant execute on function
  embeddings.adopt_embedding_model(text, integer),
  embeddings.begin_embedding_change(text, integer),
  embeddings.embedding_change(),
  embeddings.switch_embedding_model(text, bigint),
  embeddings.abandon_embedding_change(),
  embeddings.drop_leaving_vectors(text, integer, uuid),
  embeddings.drop_embedding_model(text)
to l9_worker;
