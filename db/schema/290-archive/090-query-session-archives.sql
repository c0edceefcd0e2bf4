-- The operation query_cascade_memories: finds archived sessions by the words of their summaries, or lists the newest.
create function archive.log_found(packet_ids uuid[]) returns void language sql volatile set search_path = ''
begin atomic
  select importance.log_accesses(
    'search', array_agg(a.archive_id), array_agg(a.scope), array_agg(a.project_id), target_type => 'archive')
  from public.session_archives a where a.packet_id = any (packet_ids) having count(*) > 0;
end;
comment on function archive.log_found is 'Writes to the access log which of these archives the caller was shown.';
grant execute on function archive.log_found to l9_agent, l9_admin;

-- With a query the search ranks the summaries; without one each scope is walked in the order of its index.
create function public.query_cascade_memories(query text default null, tags text[] default null, since timestamptz default null,
  until timestamptz default null, "limit" integer default 20, project_id text default null, session_id text default null)
returns setof public.session_archives
language plpgsql volatile set search_path = '' as $$
declare
  found_ids uuid[];
  hits public.memory_hit[];
begin
  tags := identity.given_list(tags);
  session_id := identity.given_text(session_id);
  if "limit" is null or "limit" not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'limit: must be from 1 to 100');
  elsif since > until then
    perform identity.raise_error('L9VAL', 'since: must not be after until');
  end if;
  if nullif(btrim(query), '') is not null then
    -- The memories of kind session are searched, so that ranking, audit and access log are those of every search.
    hits := (public.search_memory(
      -- The search does not know sessions; of one there are few archives.
      query => query, k => case when session_id is null then "limit" else 100 end, mode => 'lexical', kinds => '{session}',
      tags => tags, since => since, until => until, project_id => nullif(project_id, ''))).hits;
    found_ids := array(
      select h.packet_id from unnest(hits) with ordinality as h
      join public.session_archives a on a.packet_id = h.packet_id
        and (query_cascade_memories.session_id is null or a.session_id = query_cascade_memories.session_id)
      order by h.ordinality limit "limit");
    perform archive.log_found(found_ids);
    return query
      select a.* from unnest(found_ids) with ordinality as f (packet_id, place)
      join public.session_archives a on a.packet_id = f.packet_id
      order by f.place;
    return;
  end if;
  perform identity.require_identity();
  -- One walk of the index for each scope, so that it is as quick among many archives of others.
  select array_agg(newest.packet_id) into found_ids
  from (
    select a.packet_id
    from (select distinct s.name from unnest(identity.current_scopes()) as s (name)) s
    cross join lateral (
      select a.packet_id, a.happened_at, a.archive_id
      from public.session_archives a
      where a.tenant_id = (select identity.current_tenant_id()) and a.scope = s.name
        and a.happened_at >= coalesce(since, '-infinity') and a.happened_at < coalesce(until, 'infinity')
        and (query_cascade_memories.session_id is null or a.session_id = query_cascade_memories.session_id)
        and (query_cascade_memories.tags is null
          or packets.tag_keys(a.tags) && packets.wanted_tag_keys(query_cascade_memories.tags))
        and not exists (select from public.session_archives n where n.predecessor_id = a.archive_id)
        and (nullif(query_cascade_memories.project_id, '') is null
          or a.project_id = query_cascade_memories.project_id or a.project_id is null)
      order by a.happened_at desc, a.archive_id desc limit "limit") a
    order by a.happened_at desc, a.archive_id desc limit "limit") newest;
  perform audit.audit_read('READ', jsonb_build_object('ids', to_jsonb(coalesce(found_ids, '{}')), 'query', 'session_archives'),
    project_id => project_id);
  perform archive.log_found(found_ids);
  return query
    select a.* from public.session_archives a where a.packet_id = any (found_ids) order by a.happened_at desc, a.archive_id desc;
end $$;
comment on function public.query_cascade_memories is 'Archived sessions that the caller may read: those whose summary matches '
  'the words of query, best first, or the newest; of a resumed session the last archive. session_id: only this session. tags: '
  'any of these. since, until: when the session ended, or else began, or else was archived. limit: 1 to 100. Only the index is '
  'read, never a store. Audited. Errors: L9VAL, L9AUT.';
grant execute on function public.query_cascade_memories to l9_agent, l9_admin;
