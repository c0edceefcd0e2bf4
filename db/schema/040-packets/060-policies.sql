call identity.protect_like_memories('public.packet_store', is_writable => true);

create policy creator_updates on public.packet_store as restrictive for update to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator())
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy creator_deletes on public.packet_store as restrictive for delete to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator())
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_updates on public.packet_store as restrictive for update to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_deletes on public.packet_store as restrictive for delete to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy worker_access on public.packet_store to l9_worker using (true);
create policy definer_functions on public.packet_store for select to l9_owner
  using (ttl <= now());
create policy definer_locks on public.packet_store for update to l9_owner
  using (ttl <= now()) with check (false);
create policy definer_cleanup on public.packet_store for delete to l9_owner
  using (ttl <= now());

comment on policy creator_updates on public.packet_store is 'Agents change only what they wrote themselves.';
comment on policy creator_deletes on public.packet_store is 'Agents delete only what they wrote themselves.';
comment on policy writable_updates on public.packet_store is 'An admin changes nothing in a scope that it may only read.';
comment on policy writable_deletes on public.packet_store is 'An admin deletes nothing in a scope that it may only read.';
comment on policy worker_access on public.packet_store is 'Jobs read contents to embed, and set chunk_count; the grants say which columns.';
comment on policy definer_functions on public.packet_store is 'Functions of the owner see what has expired, and nothing else.';
comment on policy definer_locks on public.packet_store is 'Functions of the owner lock what has expired, so that two cleanups share the work; they change nothing.';
comment on policy definer_cleanup on public.packet_store is 'Functions of the owner delete what has expired, and nothing else.';

grant select, delete on public.packet_store to l9_agent, l9_admin;
grant insert (
  packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope, importance_score,
  correlation_id, session_id, trace_id
) on public.packet_store to l9_agent, l9_admin;
grant update (
  packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope, importance_score,
  correlation_id, session_id, trace_id
) on public.packet_store to l9_agent, l9_admin;
grant select on public.packet_store to l9_platform_admin, l9_worker;
grant maintain on public.packet_store to l9_worker; -- statistics, where no autovacuum makes them
grant update (chunk_count) on public.packet_store to l9_worker;
-- No insert or update of packet_id, content_hash, tenant_id, org_id, user_id, timestamp, counters: triggers and jobs set them.
