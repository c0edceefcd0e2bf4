create function embeddings.tg_packet_store__enqueue_embedding()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into embeddings.pending_embeddings (packet_id, model)
  select n.packet_id, m.model
  from new_rows n cross join public.embedding_models m
  where m.state in ('serving', 'arriving')
  order by n.packet_id, m.model;
  return null;
end
$$;

comment on function embeddings.tg_packet_store__enqueue_embedding() is
  'Puts new memories on the list of what is to be embedded. Definer: callers don''t see that list.';

create trigger _900_enqueue_embedding after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function embeddings.tg_packet_store__enqueue_embedding();

create function embeddings.tg_packet_store__embeddings_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.content_hash <> old.content_hash then
    -- What its old words meant must not be found any more.
    delete from public.memory_embeddings e where e.packet_id = new.packet_id;
    insert into embeddings.pending_embeddings as p (packet_id, model)
    select new.packet_id, m.model from public.embedding_models m where m.state in ('serving', 'arriving')
    order by m.model
    on conflict (packet_id, model) do update
      set attempts = 0, next_attempt_at = now(), leased_until = null, last_error = null;
    if new.chunk_count > 0 then
      new.chunk_count := 0;
    end if;
  else
    update public.memory_embeddings e
    set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
      ttl = new.ttl
    where e.packet_id = new.packet_id;
  end if;
  return new;
end
$$;

comment on function embeddings.tg_packet_store__embeddings_follow() is
  'Keeps owner, project, scope and expiry of the vectors equal to the memory''s; drops them when its content changes. Definer: callers can''t write vectors.';

create trigger _600_embeddings_follow before update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
    or new.org_id is distinct from old.org_id
    or new.user_id is distinct from old.user_id
    or new.project_id is distinct from old.project_id
    or new.ttl is distinct from old.ttl)
  execute function embeddings.tg_packet_store__embeddings_follow();
