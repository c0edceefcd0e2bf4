create type summaries.due_for_audience as (
  tenant_id uuid,
  org_id uuid,
  user_id uuid,
  scope text,
  project_id text,
  scope_type text,
  scope_value text,
  reason text,
  new_packets integer,
  packet_count integer,
  summary_id uuid,
  coverage_start timestamptz,
  coverage_end timestamptz,
  valid_until timestamptz,
  source_packet_ids uuid[]
);

comment on type summaries.due_for_audience is 'A summary that is due, and the audience that it is for.';

create function summaries.summary_threshold(scope_type text)
returns integer
language sql
immutable
parallel safe
return case scope_type when 'task' then 5 when 'thread' then 10 when 'topic' then 20 when 'time_period' then 20 else 50 end;

comment on function summaries.summary_threshold(text) is
  'The number of new memories that makes a summary due by default: task 5, thread 10, topic 20, week 20, agent 50, project 50.';

create function summaries.summary_subjects(memory public.packet_store)
returns table (scope_type text, scope_value text)
language sql
immutable
parallel safe
begin atomic
  select s.scope_type, s.scope_value
  from (values
    ('thread', (memory).thread_id), ('agent', (memory).metadata ->> 'creator'), ('project', (memory).project_id),
    ('task', (memory).correlation_id),
    ('time_period', to_char((memory)."timestamp" at time zone 'UTC', 'IYYY-"W"IW'))) as s (scope_type, scope_value)
  where s.scope_value ~ '\S' and octet_length(s.scope_value) <= summaries.max_subject_bytes()
  union all
  select 'topic', t.tag from unnest((memory).tags) as t (tag);
end;

comment on function summaries.summary_subjects(public.packet_store) is
  'The subjects whose summaries a memory belongs to: its thread, its creator, its tags, the ISO week in which it was saved (UTC), its project, and the task that its correlation_id names.';

create function summaries.find_due(
  me identity.identity, target_tenant uuid, types text[], only_value text, only_project text, min_packets integer,
  max_sources integer, k integer)
returns setof summaries.due_for_audience
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  -- Only the newest memories are scanned, because summaries of active subjects are the useful ones. Older memories are found when
  -- the call names their thread or project.
  scan_limit constant integer := 20000;
begin
  return query
  with recent as materialized (
    select p.packet_id, p."timestamp", p.scope, p.project_id, s.scope_type, s.scope_value,
      case when me.caller is not null then me.org_id else p.org_id end as org_id,
      case when me.caller is not null then me.user_id else p.user_id end as user_id
    from (
      select p.* from public.packet_store p
      where p.tenant_id = target_tenant and p.packet_type <> 'summary' and (p.ttl is null or p.ttl > now())
        and (me.caller is null
          or p.scope = any (me.writable_scopes)
            -- An admin also sees memories of other orgs and users, but a summary of them could be read by the wrong ones.
            and (p.org_id is null or p.org_id = me.org_id) and (p.user_id is null or p.user_id = me.user_id))
        and (only_project is null or p.project_id = only_project)
        and (only_value is null or types is distinct from '{thread}' or p.thread_id = only_value)
      order by p."timestamp" desc
      limit scan_limit
    ) p
    cross join lateral summaries.summary_subjects(p) s
    where (types is null or s.scope_type = any (types)) and (only_value is null or s.scope_value = only_value)
  ), current as (
    select s.*,
      exists (
        select from public.memory_summary_sources l where l.summary_packet = s.source_packet and l.is_changed) as is_changed
    from public.memory_summaries s
    where s.tenant_id = target_tenant
      and (me.caller is null or s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id)
  ), grouped as (
    select l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value,
      count(*)::integer as packet_count,
      (count(*) filter (where c.summary_id is null or l."timestamp" > c.coverage_end))::integer as new_packets,
      (array_agg(l.packet_id order by l."timestamp" desc, l.packet_id desc))[1:max_sources] as sources
    from recent l
    left join current c on c.scope_type = l.scope_type and c.scope_value = l.scope_value and c.scope = l.scope
      and c.project_id is not distinct from l.project_id and c.org_id is not distinct from l.org_id
      and c.user_id is not distinct from l.user_id
    group by l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value
  ), evaluated as (
    select g.*, c.summary_id, c.coverage_start, c.coverage_end, c.valid_until, c.creator,
      case
        when c.is_changed then 'changed'
        when c.valid_until <= now() then 'valid_until'
        when g.new_packets < coalesce(min_packets, summaries.summary_threshold(g.scope_type)) then null
        when c.summary_id is null then 'none'
        else 'packets'
      end as reason
    from grouped g
    left join current c on c.scope_type = g.scope_type and c.scope_value = g.scope_value and c.scope = g.scope
      and c.project_id is not distinct from g.project_id and c.org_id is not distinct from g.org_id
      and c.user_id is not distinct from g.user_id
  )
  select target_tenant, e.org_id, e.user_id, e.scope, e.project_id, e.scope_type, e.scope_value, e.reason, e.new_packets,
    e.packet_count, e.summary_id, e.coverage_start, e.coverage_end, e.valid_until, e.sources
  from evaluated e
  where e.reason is not null
    -- A summary of another agent is replaced by that agent, by admins or by the background job.
    and (me.caller is null or me.role = 'l9_admin' or e.summary_id is null or e.creator = me.creator)
  order by e.reason in ('changed', 'valid_until') desc, e.new_packets desc, e.scope_type, e.scope_value, e.scope, e.project_id
  limit k;
end
$$;

comment on function summaries.find_due(
  identity.identity, uuid, text[], text, text, integer, integer, integer) is
  'Summaries that are due in a tenant: for the audiences that this identity writes for or, without a caller (for jobs), for all. Scans the newest 20,000 memories and groups them by audience, so that no due summary contains memories that its readers may not read. Runs with the rights of the caller.';

grant execute on function
  summaries.summary_threshold(text), summaries.summary_subjects(public.packet_store),
  summaries.find_due(identity.identity, uuid, text[], text, text, integer, integer, integer)
to l9_agent, l9_admin, l9_worker;

create type public.due_summary as (
  scope_type text,
  scope_value text,
  scope text,
  project_id text,
  reason text,
  new_packets integer,
  packet_count integer,
  summary_id uuid,
  coverage_start timestamptz,
  coverage_end timestamptz,
  valid_until timestamptz,
  source_packet_ids uuid[]
);

comment on type public.due_summary is 'A summary that is due.';
comment on column public.due_summary.scope_type is 'The type of the subject: thread, agent, topic, time_period, project or task.';
comment on column public.due_summary.scope_value is
  'The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.';
comment on column public.due_summary.scope is 'The scope of the memories, which the summary will have.';
comment on column public.due_summary.project_id is 'The project of the memories; null in scope global.';
comment on column public.due_summary.coverage_start is
  'The time when the oldest source of the existing summary was saved; null if there is none.';
comment on column public.due_summary.coverage_end is
  'The time when the newest source of the existing summary was saved; null if there is none.';
comment on column public.due_summary.valid_until is 'The time from which the existing summary is due by time alone.';
comment on column public.due_summary.reason is
  'The reason why the summary is due. none: there is no summary yet; packets: enough memories were added; changed: the text of a source was changed; valid_until: that time has passed.';
comment on column public.due_summary.new_packets is 'The number of memories added since the existing summary.';
comment on column public.due_summary.packet_count is 'The number of memories of the subject.';
comment on column public.due_summary.summary_id is 'The existing summary; null if there is none.';
comment on column public.due_summary.source_packet_ids is
  'The memories to summarise, newest first: the argument of save_summary().';

create function public.due_summaries(
  scope_types text[] default null,
  scope_value text default null,
  project_id text default null,
  min_packets integer default null,
  max_sources integer default 100,
  k integer default 20
)
returns setof public.due_summary
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me identity.identity := identity.require_identity();
  one_type text;
begin
  foreach one_type in array coalesce(scope_types, '{}') loop
    perform reflection.check_choice(one_type, summaries.scope_types(), 'scope_types');
  end loop;
  if min_packets < 1 then
    perform identity.raise_error('L9VAL', 'min_packets: must be 1 or more', 'min_packets');
  elsif max_sources is null or max_sources not between 1 and summaries.max_sources() then
    perform identity.raise_error('L9VAL', format('max_sources: must be from 1 to %s', summaries.max_sources()), 'max_sources');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 100', 'k');
  end if;
  return query
  select d.scope_type, d.scope_value, d.scope, d.project_id, d.reason, d.new_packets, d.packet_count, d.summary_id,
    d.coverage_start, d.coverage_end, d.valid_until, d.source_packet_ids
  from summaries.find_due(me, me.tenant_id, scope_types, scope_value, project_id, min_packets, max_sources, k) d;
end
$$;

comment on function public.due_summaries(text[], text, text, integer, integer, integer) is
  'Summaries that are due in the scopes where the caller writes: there is none yet and there are enough memories, enough memories were added, a source was changed, or valid_until has passed. min_packets: the number of memories that is enough; by default task 5, thread 10, topic 20, week 20, agent 50, project 50. source_packet_ids has the newest max_sources (1 to 500). Scans the newest 20,000 memories. Errors: L9VAL, L9AUT.';

grant execute on function public.due_summaries(text[], text, text, integer, integer, integer) to l9_agent, l9_admin;
