-- What the extraction job calls, as l9_worker. Each is one short transaction: none is open while a model answers.

create function extraction.lease_extractions(batch_size integer, lease interval)
returns table (
  packet_id uuid, content text, content_hash bytea, saved_at timestamptz, attempts integer,
  tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text)
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  loop
    ids := array(
      select q.packet_id from extraction.pending_extractions q
      where q.given_up_at is null and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now())
      order by q.next_attempt_at
      limit batch_size
      for update skip locked);
    exit when ids = '{}';
    -- Its tenant may want it no more, or it has moved where nothing may be read.
    delete from extraction.pending_extractions q
    where q.packet_id = any (ids) and not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = q.packet_id and extraction.is_wanted(s, p.packet_type, p.scope, p.ttl));
    return query
    with claimed as (
      update extraction.pending_extractions q set leased_until = now() + lease
      where q.packet_id = any (ids)
      returning q.packet_id, q.attempts
    )
    select p.packet_id, p.envelope ->> 'content', p.content_hash, p."timestamp", c.attempts,
      p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope
    from claimed c join public.packet_store p on p.packet_id = c.packet_id;
    exit when found;
  end loop;
end
$$;

comment on function extraction.lease_extractions(integer, interval) is
  'Takes up to batch_size memories off the top of the list for the length of the lease; those that are not wanted any more are off it for good.';

create function extraction.postpone_extraction(packet_id uuid, delay interval, error text, counts_as_attempt boolean, most_attempts integer default 5)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  has_given_up boolean;
begin
  update extraction.pending_extractions q
  set leased_until = null,
    next_attempt_at = now() + delay,
    last_error = coalesce(nullif(left(regexp_replace(error, '[^A-Za-z0-9._:-].*$', ''), 100), ''), 'Error'),
    attempts = q.attempts + counts_as_attempt::integer,
    given_up_at = case when counts_as_attempt and q.attempts + 1 >= most_attempts then now() end
  where q.packet_id = postpone_extraction.packet_id
  returning q.given_up_at is not null into has_given_up;
  return coalesce(has_given_up, false);
end
$$;

comment on function extraction.postpone_extraction(uuid, interval, text, boolean, integer) is
  'Puts a memory back on the list for later: after a failure of the provider, or (as an attempt) for want of an answer of use. True: that was its last attempt.';

create function extraction.postpone_extractions_of(tenant_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update extraction.pending_extractions q
  -- Tomorrow; or sooner, should the budget be raised meanwhile.
  set leased_until = null, last_error = 'budget',
    next_attempt_at = least(now() + interval '10 minutes', (date_trunc('day', now() at time zone 'utc') + interval '1 day') at time zone 'utc')
  from public.packet_store p
  where p.packet_id = q.packet_id and p.tenant_id = postpone_extractions_of.tenant_id
    and q.given_up_at is null and q.next_attempt_at <= now() + interval '10 minutes' and (q.leased_until is null or q.leased_until < now());
end;

comment on function extraction.postpone_extractions_of(uuid) is
  'Puts off what waits of a tenant whose budget is used up; what is being worked on is let be.';

create function extraction.release_extraction_leases()
returns void
language sql
volatile
set search_path = ''
begin atomic
  update extraction.pending_extractions q set leased_until = null where q.leased_until is not null;
end;

comment on function extraction.release_extraction_leases() is
  'Ends all claims. For the start of a process that is alone on its database, where claims are those of one that died.';

create function extraction.has_due_extractions()
returns boolean
language sql
stable
set search_path = ''
return exists (
  select from extraction.pending_extractions q
  where q.given_up_at is null and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now()));

comment on function extraction.has_due_extractions() is 'Whether a memory waits to be read by a chat model, and may be claimed.';

create function extraction.extraction_backlog()
returns table (pending bigint, given_up bigint, oldest_seconds double precision, tokens_today bigint)
language sql
stable
set search_path = ''
begin atomic
  select count(*) filter (where q.given_up_at is null), count(q.given_up_at),
    coalesce(extract(epoch from now() - min(q.enqueued_at) filter (where q.given_up_at is null)), 0)::double precision,
    (select coalesce(sum(u.prompt_tokens + u.completion_tokens), 0)::bigint from public.extraction_usage u
     where u.day = (now() at time zone 'utc')::date)
  from extraction.pending_extractions q;
end;

comment on function extraction.extraction_backlog() is
  'How many memories wait to be read by a chat model, how many were given up, the age of the oldest that waits in seconds, and what the day''s calls have cost, of all tenants.';

grant execute on function
  extraction.lease_extractions(integer, interval),
  extraction.postpone_extraction(uuid, interval, text, boolean, integer),
  extraction.postpone_extractions_of(uuid),
  extraction.release_extraction_leases(),
  extraction.has_due_extractions(),
  extraction.extraction_backlog()
to l9_worker;
