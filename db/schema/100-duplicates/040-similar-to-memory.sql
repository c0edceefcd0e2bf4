-- Near-duplicates of a memory that was saved. The gateway calls it after a save with on_similar keep.
create function duplicates.similar_to_memory(
  packet_id uuid, content_vector extensions.vector default null, model text default null) returns public.similar_memory[]
language sql stable set search_path = ''
return coalesce((
  select pg_catalog.array_agg(row(s.packet_id, s.similarity)::public.similar_memory order by s.similarity desc, s.packet_id)
  from public.packet_store p
  cross join lateral duplicates.find_similar(
    p.envelope ->> 'content', p.scope, p.project_id, p.branch, p.packet_type, p.org_id, p.user_id, p.packet_id,
    content_vector, model) s
  where p.packet_id = similar_to_memory.packet_id), '{}');
comment on function duplicates.similar_to_memory is 'find_similar() of a saved memory, for saves with on_similar keep.';
grant execute on function duplicates.similar_to_memory to l9_agent, l9_admin;
