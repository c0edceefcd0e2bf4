-- The extraction job calls these functions as l9_worker, each in a short transaction: none is open while the model answers.
create function extraction.lease_extractions(batch_size integer, lease interval)
returns table (packet_id uuid, content text, content_hash bytea, happened_at timestamptz, attempts integer, tenant_id uuid,
  org_id uuid, user_id uuid, project_id text, scope text)
language plpgsql volatile set search_path = '' as $$
declare
  ids uuid[];
begin
  loop
    ids := array(
      select q.packet_id from extraction.pending_extractions q
      where q.given_up_at is null and extraction.is_due(q.next_attempt_at, q.leased_until) order by q.next_attempt_at
      limit batch_size for update skip locked);
    exit when ids = '{}';
    -- Settings or scope may have changed since the memory was queued.
    delete from extraction.pending_extractions q
    where q.packet_id = any (ids) and not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = q.packet_id and extraction.is_wanted(s, p.packet_type, p.scope, p.ttl));
    return query
    with leased as (
      update extraction.pending_extractions q set leased_until = now() + lease
      where q.packet_id = any (ids) returning q.packet_id, q.attempts
    )
    select p.packet_id, p.envelope ->> 'content', p.content_hash, p."timestamp", l.attempts,
      p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope
    from leased l join public.packet_store p on p.packet_id = l.packet_id;
    exit when found;
  end loop;
end $$;
comment on function extraction.lease_extractions is 'Leases up to batch_size memories of the queue; drops unwanted ones.';

create function extraction.postpone_extraction(packet_id uuid, delay interval, error text, counts_as_attempt boolean,
  max_attempts integer default extraction.max_attempts()) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  has_given_up boolean;
begin
  update extraction.pending_extractions q
  set leased_until = null,
    next_attempt_at = now() + delay, last_error = tasks.error_name(error), attempts = q.attempts + counts_as_attempt::integer,
    given_up_at = case when counts_as_attempt and q.attempts + 1 >= max_attempts then now() end
  where q.packet_id = postpone_extraction.packet_id returning q.given_up_at is not null into has_given_up;
  return coalesce(has_given_up, false);
end $$;
comment on function extraction.postpone_extraction is 'Ends a lease, due after the delay; true if it was the last attempt.';

create function extraction.postpone_extractions_of(tenant_id uuid) returns void language sql volatile set search_path = ''
begin atomic
  update extraction.pending_extractions q
  -- Checked again every 10 minutes in case the budget is raised, and at the start of the next day.
  set leased_until = null, last_error = 'budget',
    next_attempt_at = least(now() + interval '10 minutes',
      (date_trunc('day', now() at time zone 'utc') + interval '1 day') at time zone 'utc')
  from public.packet_store p
  where p.packet_id = q.packet_id and p.tenant_id = postpone_extractions_of.tenant_id
    and q.given_up_at is null and q.next_attempt_at <= now() + interval '10 minutes'
    and (q.leased_until is null or q.leased_until < now());
end;
comment on function extraction.postpone_extractions_of is 'Postpones a tenant without budget to the next day in UTC at most.';

create function extraction.release_extraction_leases() returns void language sql volatile set search_path = ''
begin atomic
  update extraction.pending_extractions q set leased_until = null where q.leased_until is not null;
end;
comment on function extraction.release_extraction_leases is 'Ends all leases, at the start of the only process of a database.';

create function extraction.has_due_extractions() returns boolean language sql stable set search_path = ''
return exists (
  select from extraction.pending_extractions q
  where q.given_up_at is null and extraction.is_due(q.next_attempt_at, q.leased_until));
comment on function extraction.has_due_extractions is 'True if a memory in the queue can be leased now.';

create function extraction.extraction_backlog()
returns table (pending bigint, given_up bigint, oldest_seconds double precision, tokens_today bigint)
language sql stable set search_path = ''
begin atomic
  select count(*) filter (where q.given_up_at is null), count(q.given_up_at),
    coalesce(extract(epoch from now() - min(q.enqueued_at) filter (where q.given_up_at is null)), 0)::double precision,
    (select coalesce(sum(u.prompt_tokens + u.completion_tokens), 0)::bigint from public.extraction_usage u
     where u.day = (now() at time zone 'utc')::date)
  from extraction.pending_extractions q;
end;
comment on function extraction.extraction_backlog is 'Over all tenants: waiting, given up, seconds of the oldest, tokens today.';
grant execute on function extraction.lease_extractions, extraction.postpone_extraction, extraction.postpone_extractions_of,
  extraction.release_extraction_leases, extraction.has_due_extractions, extraction.extraction_backlog to l9_worker;
