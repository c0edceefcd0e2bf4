-- The operation get_memory_stats: counts the memories that the caller may read.

create type public.memory_stats as (
  total bigint,
  by_kind jsonb,
  by_scope jsonb,
  by_project jsonb,
  by_creator jsonb,
  embedded bigint,
  awaiting_embedding bigint,
  oldest timestamptz,
  newest timestamptz
);
comment on type public.memory_stats is 'Counts of the memories that the caller may read, and of no others.';
comment on column public.memory_stats.total is 'The number of memories.';
comment on column public.memory_stats.oldest is 'The event time of the memory that happened first.';
comment on column public.memory_stats.newest is 'The event time of the memory that happened last.';
comment on column public.memory_stats.by_kind is 'An object of kind and count.';
comment on column public.memory_stats.by_scope is 'An object of scope and count.';
comment on column public.memory_stats.by_project is 'An object of project and count; memories without a project are not '
  'included.';
comment on column public.memory_stats.by_creator is 'An object of creator and count.';
comment on column public.memory_stats.embedded is 'The number of memories that can be found by meaning.';
comment on column public.memory_stats.awaiting_embedding is 'The number of memories that can be found only by words until their '
  'vectors are stored. One of which the model knows no piece, such as emoji alone, has no vector and does not wait.';

-- Reads the memories once, and groups them by each property on its own.
create function public.get_memory_stats(project_id text default null, branch text default null) returns public.memory_stats
language plpgsql volatile set search_path = '' set l9.withheld = 'none' as $$
declare
  stats public.memory_stats;
  only_branch constant text := packets.one_branch(branch);
begin
  perform identity.require_identity();
  project_id := identity.given_text(get_memory_stats.project_id);
  with readable as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p.metadata ->> 'creator' as creator, p."timestamp",
      exists (
        select from public.memory_embeddings e
        where e.packet_id = p.packet_id and e.embedding_type = 'content'
          and e.model = (select embeddings.serving_model())) as is_embedded
    from public.packet_store p
    where (p.ttl is null or p.ttl > now())
      and (get_memory_stats.project_id is null or p.project_id = get_memory_stats.project_id)
      and (only_branch is null or p.branch = only_branch or p.branch is null)
  ), counts as (
    select grouping(r.packet_type) = 0 as is_kind, grouping(r.scope) = 0 as is_scope, grouping(r.project_id) = 0 as is_project,
      grouping(r.creator) = 0 as is_creator,
      coalesce(r.packet_type, r.scope, r.project_id, r.creator) as name, count(*) as n,
      count(*) filter (where r.is_embedded) as embedded, min(r."timestamp") as oldest, max(r."timestamp") as newest
    from readable r group by grouping sets ((), (r.packet_type), (r.scope), (r.project_id), (r.creator))
  )
  select
    max(n) filter (where not (is_kind or is_scope or is_project or is_creator)),
    coalesce(jsonb_object_agg(name, n) filter (where is_kind), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_scope), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_project and name is not null), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_creator), '{}'),
    max(embedded) filter (where not (is_kind or is_scope or is_project or is_creator)),
    (select embeddings.count_waiting(array(select r.packet_id from readable r where not r.is_embedded))),
    min(oldest), max(newest)
  into stats
  from counts;
  perform audit.audit_read(
    'STATS', jsonb_strip_nulls(jsonb_build_object('project_id', get_memory_stats.project_id, 'branch', left(only_branch, 255),
      'total', stats.total)),
    project_id => get_memory_stats.project_id);
  return stats;
end $$;
comment on function public.get_memory_stats is 'Counts the memories that the caller may read, in one project or in all, of one '
  'branch and of every branch, or of all of them. Writes an audit row.';
grant execute on function public.get_memory_stats to l9_agent, l9_admin, l9_platform_admin;
