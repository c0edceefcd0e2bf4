create type summaries.due as (
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

comment on type summaries.due is 'A summary that is to be written, and for which room.';

create function summaries.summary_threshold(scope_type text)
returns integer
language sql
immutable
parallel safe
return case scope_type when 'task' then 5 when 'thread' then 10 when 'topic' then 20 when 'time_period' then 20 else 50 end;

comment on function summaries.summary_threshold(text) is
  'How many new memories make a summary due, where nothing else is said: a task 5, a thread 10, a topic or a week 20, an agent or a project 50.';

create function summaries.subjects_of(memory public.packet_store)
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
  where s.scope_value ~ '\S' and octet_length(s.scope_value) <= 1000
  union all
  select 'topic', t.tag from unnest((memory).tags) as t (tag);
end;

comment on function summaries.subjects_of(public.packet_store) is
  'What summaries a memory belongs into: of its thread, its writer, its tags, the ISO week it was saved in (UTC), its project, and the task that its correlation_id names.';

create function summaries.find_due(
  me identity.identity, of_tenant uuid, types text[], only_value text, only_project text, min_packets integer,
  max_sources integer, k integer)
returns setof summaries.due
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  -- What is older waits until it is asked for by name: a summary of what moves now is what is missed.
  look_at constant integer := 20000;
begin
  return query
  with looked_at as materialized (
    select p.packet_id, p."timestamp", p.scope, p.project_id, s.scope_type, s.scope_value,
      case when me.caller is not null then me.org_id else p.org_id end as org_id,
      case when me.caller is not null then me.user_id else p.user_id end as user_id
    from (
      select p.* from public.packet_store p
      where p.tenant_id = of_tenant and p.packet_type <> 'summary' and (p.ttl is null or p.ttl > now())
        and (me.caller is null
          or p.scope = any (me.writable_scopes)
            -- An admin sees what belongs to others; in what it writes they would read of each other.
            and (p.org_id is null or p.org_id = me.org_id) and (p.user_id is null or p.user_id = me.user_id))
        and (only_project is null or p.project_id = only_project)
        and (only_value is null or types is distinct from '{thread}' or p.thread_id = only_value)
      order by p."timestamp" desc
      limit look_at
    ) p
    cross join lateral summaries.subjects_of(p) s
    where (types is null or s.scope_type = any (types)) and (only_value is null or s.scope_value = only_value)
  ), current as (
    select s.*,
      exists (
        select from public.memory_summary_sources l where l.summary_packet = s.source_packet and l.is_changed) as is_changed
    from public.memory_summaries s
    where s.tenant_id = of_tenant
      and (me.caller is null or s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id)
  ), grouped as (
    select l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value,
      count(*)::integer as packet_count,
      (count(*) filter (where c.summary_id is null or l."timestamp" > c.coverage_end))::integer as new_packets,
      (array_agg(l.packet_id order by l."timestamp" desc, l.packet_id desc))[1:max_sources] as sources
    from looked_at l
    left join current c on c.scope_type = l.scope_type and c.scope_value = l.scope_value and c.scope = l.scope
      and c.project_id is not distinct from l.project_id and c.org_id is not distinct from l.org_id
      and c.user_id is not distinct from l.user_id
    group by l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value
  ), judged as (
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
  select of_tenant, j.org_id, j.user_id, j.scope, j.project_id, j.scope_type, j.scope_value, j.reason, j.new_packets,
    j.packet_count, j.summary_id, j.coverage_start, j.coverage_end, j.valid_until, j.sources
  from judged j
  where j.reason is not null
    -- What another agent wrote is for it, for admins and for the job to write anew.
    and (me.caller is null or me.role = 'l9_admin' or j.summary_id is null or j.creator = me.creator)
  order by j.reason in ('changed', 'valid_until') desc, j.new_packets desc, j.scope_type, j.scope_value, j.scope, j.project_id
  limit k;
end
$$;

comment on function summaries.find_due(
  identity.identity, uuid, text[], text, text, integer, integer, integer) is
  'Summaries that are due in a tenant: for the rooms that this identity writes in, or (without a caller, for jobs) for all. Among the newest 20,000 memories, room by room, so that none is due for what its readers may not read. Runs with the rights of whoever asks.';

grant execute on function
  summaries.summary_threshold(text), summaries.subjects_of(public.packet_store),
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

comment on type public.due_summary is 'A summary that is to be written.';
comment on column public.due_summary.scope_type is 'What is to be summed up: thread, agent, topic, time_period, project or task.';
comment on column public.due_summary.scope_value is 'Which one: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id, a correlation_id.';
comment on column public.due_summary.scope is 'The scope of its memories, which the summary will have.';
comment on column public.due_summary.project_id is 'The project of its memories; null in scope global.';
comment on column public.due_summary.coverage_start is 'When the oldest of its memories was saved.';
comment on column public.due_summary.coverage_end is 'When the newest of its memories was saved.';
comment on column public.due_summary.valid_until is 'From when on the summary that is there is due by time alone.';
comment on column public.due_summary.reason is
  'none: there is none yet; packets: enough was added; changed: the text of a source was changed; valid_until: its time is over.';
comment on column public.due_summary.new_packets is 'How many memories were added since the summary that is there.';
comment on column public.due_summary.packet_count is 'How many memories there are.';
comment on column public.due_summary.summary_id is 'The summary that is there.';
comment on column public.due_summary.source_packet_ids is 'What to sum up, the newest first: for save_summary.';

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
    perform reflection.check_choice(one_type, '{thread,agent,topic,time_period,project,task}', 'scope_types');
  end loop;
  if min_packets < 1 then
    perform identity.raise_error('L9VAL', 'min_packets: 1 or more', 'min_packets');
  elsif max_sources is null or max_sources not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'max_sources: from 1 to 500', 'max_sources');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: from 1 to 100', 'k');
  end if;
  return query
  select d.scope_type, d.scope_value, d.scope, d.project_id, d.reason, d.new_packets, d.packet_count, d.summary_id,
    d.coverage_start, d.coverage_end, d.valid_until, d.source_packet_ids
  from summaries.find_due(me, me.tenant_id, scope_types, scope_value, project_id, min_packets, max_sources, k) d;
end
$$;

comment on function public.due_summaries(text[], text, text, integer, integer, integer) is
  'Summaries that are to be written, in the scopes where the caller writes: of what has none and enough memories, of what gained enough since, whose sources were changed, or whose valid_until is over. min_packets: how many are enough; by default a task 5, a thread 10, a topic or a week 20, an agent or a project 50. source_packet_ids: the newest max_sources (1 to 500). Looks at the newest 20,000 memories. Errors: L9VAL, L9AUT.';

grant execute on function public.due_summaries(text[], text, text, integer, integer, integer) to l9_agent, l9_admin;
