-- Functions over the queue that the embedding job calls, as l9_worker. Each call is one short transaction, so no transaction is
-- open while a provider answers.
create function embeddings.lease_pending_embeddings(
  model text, batch_size integer, lease interval, has_whole boolean default false) returns table (
  packet_id uuid, content text, content_hash bytea, attempts integer, reasoning text, tenant_id uuid, next_chunk integer)
language sql volatile set search_path = ''
begin atomic
  with due as (
    select q.packet_id from embeddings.pending_embeddings q
    where q.model = lease_pending_embeddings.model and q.next_attempt_at <= now()
      and (q.leased_until is null or q.leased_until < now())
      and q.next_chunk >= case when has_whole then 1 else 0 end and q.next_chunk <= case when has_whole then 2147483647 else 0 end
    order by q.next_chunk, q.enqueued_at desc limit batch_size for update skip locked
  ), leased as (
    update embeddings.pending_embeddings q set leased_until = now() + lease
    from due where q.packet_id = due.packet_id and q.model = lease_pending_embeddings.model
    returning q.packet_id, q.attempts, q.next_chunk, q.enqueued_at
  )
  select p.packet_id, p.envelope ->> 'content', p.content_hash, leased.attempts,
    embeddings.reasoning_text(p.packet_type, p.envelope), p.tenant_id, leased.next_chunk
  from leased join public.packet_store p on p.packet_id = leased.packet_id order by leased.next_chunk, leased.enqueued_at desc;
end;
comment on function embeddings.lease_pending_embeddings is 'Leases up to batch_size memories that wait for this model: the '
  'newest of those without a vector, or with has_whole of those that lack only chunks, the one with the fewest chunks so far '
  'first. So a long memory holds up no other. For reasoning traces it also returns the texts in their steps.';

create function embeddings.postpone_embeddings(
  model text, packet_ids uuid[], delay interval, error text, counts_as_attempt boolean) returns void
language sql volatile set search_path = ''
begin atomic
  -- A row that is locked is skipped: a change of the memory queues it again, and waiting for that change could block it.
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = postpone_embeddings.model
    for no key update skip locked
  )
  update embeddings.pending_embeddings q
  set leased_until = null,
    next_attempt_at = now() + delay, last_error = left(error, 100),
    attempts = q.attempts + case when counts_as_attempt then 1 else 0 end
  from free f where q.packet_id = f.packet_id and q.model = postpone_embeddings.model;
end;
comment on function embeddings.postpone_embeddings is 'Ends leases, and makes the memories due again after a delay.';

create function embeddings.renew_embedding_leases(model text, packet_ids uuid[], lease interval) returns void
language sql volatile set search_path = ''
begin atomic
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = renew_embedding_leases.model and q.leased_until is not null
    for no key update skip locked
  )
  update embeddings.pending_embeddings q set leased_until = now() + lease
  from free f where q.packet_id = f.packet_id and q.model = renew_embedding_leases.model;
end;
comment on function embeddings.renew_embedding_leases is 'Extends short leases of a job, which another can take if it dies.';

create function embeddings.release_embedding_leases() returns void language sql volatile set search_path = ''
begin atomic
  update embeddings.pending_embeddings q set leased_until = null where q.leased_until is not null;
end;
comment on function embeddings.release_embedding_leases is 'Ends all leases, at the start of the only process of a database.';

create function embeddings.enqueue_missing_embeddings(model text) returns bigint language sql volatile set search_path = ''
begin atomic
  -- Memories are locked before they are queued, in the same order as by a caller's change.
  with missing as materialized (
    select p.packet_id from public.packet_store p
    where not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = enqueue_missing_embeddings.model)
    for key share of p
  ), enqueued as (
    insert into embeddings.pending_embeddings (packet_id, model)
    select m.packet_id, enqueue_missing_embeddings.model from missing m
    order by m.packet_id on conflict do nothing returning packet_id
  )
  select count(*) from enqueued;
end;
comment on function embeddings.enqueue_missing_embeddings is 'Queues every memory without a vector of this model, and returns '
  'how many were queued. It serves a model that begins to serve or to arrive, and memories that were saved while no gateway knew '
  'the model.';

create function embeddings.count_waiting(ids uuid[]) returns bigint language sql stable security definer set search_path = ''
begin atomic
  select count(*)
  from embeddings.pending_embeddings q
  join public.packet_store p on p.packet_id = q.packet_id
  cross join identity.current_identity() me
  where q.packet_id = any (ids) and q.model = embeddings.serving_model()
    and ((me).role = 'l9_platform_admin' or identity.may_read(me, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope));
end;
comment on function embeddings.count_waiting is 'How many of these memories wait for their vectors of the serving model; those '
  'that the caller may not read do not count. Definer: it reads the queue, to which callers have no grant.';
grant execute on function embeddings.count_waiting to l9_agent, l9_admin, l9_platform_admin;

create function embeddings.embedding_backlog() returns table (pending bigint, failing bigint, oldest_seconds double precision)
language sql stable set search_path = ''
begin atomic
  select count(*), count(*) filter (where q.last_error is not null),
    coalesce(extract(epoch from now() - min(q.enqueued_at)), 0)::double precision
  from embeddings.pending_embeddings q
  where q.model = embeddings.serving_model();
end;
comment on function embeddings.embedding_backlog is 'The queue of the model that serves. pending: memories that wait; failing: '
  'those of them that failed before; oldest_seconds: age of the oldest row.';

create function embeddings.has_due_embeddings(models text[]) returns boolean language sql stable set search_path = ''
return cardinality(models) > 0 and (
  exists (
    select from embeddings.pending_embeddings q
    where q.model = any (models) and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now()))
  or exists (select from embeddings.stale_contexts));
comment on function embeddings.has_due_embeddings is 'True if a memory can be leased for these models or lost its context.';
grant execute on function embeddings.has_due_embeddings, embeddings.lease_pending_embeddings, embeddings.postpone_embeddings,
  embeddings.renew_embedding_leases, embeddings.release_embedding_leases, embeddings.enqueue_missing_embeddings,
  embeddings.embedding_backlog to l9_worker;
