-- Finds the summaries that are to be written. due_summaries() and summarize() call find_due() for their caller, and
-- lease_summaries() calls it for all audiences of a tenant.
create type summaries.due_for_audience as (tenant_id uuid, org_id uuid, user_id uuid, scope text, project_id text,
  scope_type text, scope_value text, reason text, new_packets integer, packet_count integer, summary_id uuid,
  coverage_start timestamptz, coverage_end timestamptz, valid_until timestamptz, source_packet_ids uuid[]);
comment on type summaries.due_for_audience is 'A summary that is due, and the audience that it is for.';

create function summaries.summary_threshold(scope_type text) returns integer language sql immutable parallel safe
return case scope_type when 'task' then 5 when 'thread' then 10 when 'topic' then 20 when 'time_period' then 20 else 50 end;
comment on function summaries.summary_threshold is 'The number of new memories that makes a summary due by default: task 5, '
  'thread 10, topic 20, week 20, agent 50, project 50.';

create function summaries.summary_subjects(memory public.packet_store) returns table (scope_type text, scope_value text)
language sql immutable parallel safe
begin atomic
  select s.scope_type, s.scope_value
  from (values
    ('thread', (memory).thread_id), ('agent', (memory).metadata ->> 'creator'), ('project', (memory).project_id),
    ('task', (memory).correlation_id),
    ('time_period', to_char((memory)."timestamp" at time zone 'UTC', 'IYYY-"W"IW'))) as s (scope_type, scope_value)
  where not identity.is_blank(s.scope_value) and octet_length(s.scope_value) <= summaries.max_subject_bytes()
  union all select 'topic', t.tag from unnest((memory).tags) as t (tag);
end;
comment on function summaries.summary_subjects is 'The subjects whose summaries a memory belongs to: its thread, its creator, '
  'its tags, the ISO week in which it happened (UTC), its project, and the task that its correlation_id names.';

-- Groups the newest memories by audience and subject, compares each group with the summary that exists, and keeps
-- those with a reason to write it. Without a caller all audiences are grouped.
create function summaries.find_due(me identity.identity, target_tenant uuid, types text[], only_value text, only_project text,
  min_packets integer, max_sources integer, k integer) returns setof summaries.due_for_audience
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set l9.withheld = 'none' as $$
declare
  -- Only the newest memories are scanned, because summaries of active subjects are the useful ones. Older memories are found when
  -- the call names their thread or project.
  scan_limit constant integer := 20000;
begin
  return query
  with recent as materialized (
    select p.packet_id, p."timestamp", p.created_at, p.scope, p.project_id, s.scope_type, s.scope_value,
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
      order by p."timestamp" desc limit scan_limit
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
      (count(*) filter (where c.summary_id is null or l.created_at > c.sources_saved_until))::integer as new_packets,
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
end $$;
comment on function summaries.find_due is 'Summaries that are due in a tenant: for the audiences that this identity writes for '
  'or, without a caller (for jobs), for all. Scans the newest 20,000 memories and groups them by audience, so that no due '
  'summary contains memories that its readers may not read. Runs with the rights of the caller.';
grant execute on function summaries.summary_threshold, summaries.summary_subjects, summaries.find_due to l9_agent, l9_admin,
  l9_worker;
