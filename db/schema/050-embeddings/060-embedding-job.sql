-- What the embedding job calls, as l9_worker. Each is one short transaction: none is open while a provider answers.

create function embeddings.lease_pending_embeddings(model text, batch_size integer, lease interval)
returns table (packet_id uuid, content text, content_hash bytea, attempts integer, reasoning text)
language sql
volatile
set search_path = ''
begin atomic
  with due as (
    select q.packet_id from embeddings.pending_embeddings q
    where q.model = lease_pending_embeddings.model and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now())
    order by q.next_attempt_at
    limit batch_size
    for update skip locked
  ), claimed as (
    update embeddings.pending_embeddings q set leased_until = now() + lease
    from due where q.packet_id = due.packet_id and q.model = lease_pending_embeddings.model
    returning q.packet_id, q.attempts
  )
  select p.packet_id, p.envelope ->> 'content', p.content_hash, claimed.attempts,
    embeddings.reasoning_text(p.packet_type, p.envelope)
  from claimed join public.packet_store p on p.packet_id = claimed.packet_id;
end;

comment on function embeddings.lease_pending_embeddings(text, integer, interval) is
  'Takes up to batch_size memories that wait for this model off the top of the list for the length of the lease; of traces of reasoning also what their steps say.';

create function embeddings.store_embeddings(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  chunks_before integer;
begin
  select p.chunk_count into chunks_before
  from public.packet_store p
  where p.packet_id = store_embeddings.packet_id and p.content_hash = store_embeddings.content_hash
  for update;
  if not found then
    return false; -- Deleted, or changed since it was claimed: then it is on the list anew.
  end if;

  perform embeddings.insert_vectors(
    store_embeddings.packet_id, 'content', store_embeddings.model, vectors, chunk_texts, chunk_starts, chunk_ends);

  if chunks_before <> coalesce(cardinality(chunk_texts), 0) then
    update public.packet_store p set chunk_count = coalesce(cardinality(chunk_texts), 0)
    where p.packet_id = store_embeddings.packet_id;
  end if;
  delete from embeddings.pending_embeddings q
  where q.packet_id = store_embeddings.packet_id and q.model = store_embeddings.model;
  return true;
end
$$;

comment on function embeddings.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of a memory, the whole first and then its chunks, and takes it off the list, in one transaction. False, and nothing stored, where its content has changed since it was claimed.';

create function embeddings.postpone_embeddings(model text, packet_ids uuid[], delay interval, error text, counts_as_attempt boolean)
returns void
language sql
volatile
set search_path = ''
begin atomic
  -- One that is being changed is put on the list anew by that; to wait for it might be in its way.
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = postpone_embeddings.model
    for no key update skip locked
  )
  update embeddings.pending_embeddings q
  set leased_until = null,
    next_attempt_at = now() + delay,
    last_error = left(error, 100),
    attempts = q.attempts + case when counts_as_attempt then 1 else 0 end
  from free f where q.packet_id = f.packet_id and q.model = postpone_embeddings.model;
end;

comment on function embeddings.postpone_embeddings(text, uuid[], interval, text, boolean) is
  'Puts memories back on the list for later, after a failure of the provider, or (as an attempt) of their own content.';

create function embeddings.renew_embedding_leases(model text, packet_ids uuid[], lease interval)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = renew_embedding_leases.model and q.leased_until is not null
    for no key update skip locked
  )
  update embeddings.pending_embeddings q set leased_until = now() + lease
  from free f where q.packet_id = f.packet_id and q.model = renew_embedding_leases.model;
end;

comment on function embeddings.renew_embedding_leases(text, uuid[], interval) is
  'Holds on to memories that a job still works on. A short lease, renewed, lets others take over soon from one that died.';

create function embeddings.release_embedding_leases()
returns void
language sql
volatile
set search_path = ''
begin atomic
  update embeddings.pending_embeddings q set leased_until = null where q.leased_until is not null;
end;

comment on function embeddings.release_embedding_leases() is
  'Ends all claims. For the start of a process that is alone on its database, where claims are those of one that died.';

create function embeddings.enqueue_missing_embeddings(model text)
returns bigint
language sql
volatile
set search_path = ''
begin atomic
  -- Locked before they are on the list, as by a caller's change.
  with missing as materialized (
    select p.packet_id from public.packet_store p
    where not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = enqueue_missing_embeddings.model)
    for key share of p
  ), enqueued as (
    insert into embeddings.pending_embeddings (packet_id, model)
    select m.packet_id, enqueue_missing_embeddings.model from missing m
    on conflict do nothing
    returning packet_id
  )
  select count(*) from enqueued;
end;

comment on function embeddings.enqueue_missing_embeddings(text) is
  'Puts every memory without a vector of this model on the list; returns how many. For a model that begins to serve or to arrive, and for what was saved while no gateway knew of it.';

create function embeddings.embedding_backlog()
returns table (pending bigint, failing bigint, oldest_seconds double precision)
language sql
stable
set search_path = ''
begin atomic
  select count(*), count(*) filter (where q.last_error is not null),
    coalesce(extract(epoch from now() - min(q.enqueued_at)), 0)::double precision
  from embeddings.pending_embeddings q
  where q.model = embeddings.serving_model();
end;

comment on function embeddings.embedding_backlog() is
  'How many memories wait for vectors of the model that serves, how many of them failed before, and the age of the oldest in seconds.';

create function embeddings.has_due_embeddings(models text[])
returns boolean
language sql
stable
set search_path = ''
return cardinality(models) > 0 and (
  exists (
    select from embeddings.pending_embeddings q
    where q.model = any (models) and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now()))
  or exists (select from embeddings.stale_contexts));

comment on function embeddings.has_due_embeddings(text[]) is 'Whether a memory waits for one of these models, and may be claimed, or has lost its context.';

grant execute on function
  embeddings.has_due_embeddings(text[]),
  embeddings.lease_pending_embeddings(text, integer, interval),
  embeddings.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]),
  embeddings.postpone_embeddings(text, uuid[], interval, text, boolean),
  embeddings.renew_embedding_leases(text, uuid[], interval),
  embeddings.release_embedding_leases(),
  embeddings.enqueue_missing_embeddings(text),
  embeddings.embedding_backlog()
to l9_worker;
