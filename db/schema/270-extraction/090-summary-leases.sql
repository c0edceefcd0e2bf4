-- The job that has a chat model write summaries calls these functions as l9_worker. No transaction is open while the model
-- answers.
create table extraction.summary_leases (
  summary_key bytea primary key,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz
);
call identity.describe('extraction.summary_leases', 'Leases and failed attempts of due summaries. find_due() computes which
    summaries are due; rows that are no longer needed are deleted after a week.
  summary_key: A hash of audience and subject, from which neither can be derived.
  attempts: The number of answers that were not usable.
  leased_until: End of the lease of the job that writes this summary; afterwards another job may lease it.');
call identity.keep_private('extraction.summary_leases', jobs => 'Only jobs read and write the leases.');
grant select, insert, update, delete on extraction.summary_leases to l9_worker;

create function extraction.may_write_summaries() returns boolean
language sql stable set search_path = '' return exists (select from public.extraction_settings s where s.writes_summaries);
comment on function extraction.may_write_summaries is 'True if any tenant has its summaries written by a chat model.';

-- Due summaries are computed, not queued, so a lease is a row under the hash of audience and subject: an insert that
-- meets a running lease is skipped.
create function extraction.lease_summaries(batch_size integer, lease interval)
returns table (summary_key bytea, tenant_id uuid, org_id uuid, user_id uuid, scope text, project_id text, scope_type text,
  scope_value text, packet_ids uuid[], content_hashes bytea[], contents text[], happened_at timestamptz[])
language plpgsql volatile set search_path = '' as $$
declare
  candidate record;
begin
  delete from extraction.summary_leases c
  where coalesce(c.leased_until, c.next_attempt_at) < now() - interval '7 days' and c.next_attempt_at < now() - interval '7 days';
  for candidate in
    select d.*, sha256(convert_to(jsonb_build_array(
      packets.audience_id(d.tenant_id, d.org_id, d.user_id, d.project_id, d.scope), d.scope_type, d.scope_value)::text,
      'UTF8')) as key
    from public.extraction_settings s
    cross join lateral summaries.find_due(null, s.tenant_id, null, null, null, null, 40, 100) d
    where s.writes_summaries and d.scope = any (s.scopes)
  loop
    insert into extraction.summary_leases as c (summary_key, leased_until) values (candidate.key, now() + lease)
    on conflict on constraint summary_leases_pkey do update set leased_until = excluded.leased_until
      where extraction.is_due(c.next_attempt_at, c.leased_until);
    continue when not found;
    return query
    select candidate.key, candidate.tenant_id, candidate.org_id, candidate.user_id, candidate.scope, candidate.project_id,
      candidate.scope_type, candidate.scope_value, array_agg(p.packet_id order by p."timestamp", p.packet_id),
      array_agg(p.content_hash order by p."timestamp", p.packet_id),
      array_agg(p.envelope ->> 'content' order by p."timestamp", p.packet_id),
      array_agg(p."timestamp" order by p."timestamp", p.packet_id)
    from public.packet_store p where p.packet_id = any (candidate.source_packet_ids) having count(*) > 0;
    batch_size := batch_size - 1;
    exit when batch_size <= 0;
  end loop;
end $$;
comment on function extraction.lease_summaries is 'Leases up to batch_size due summaries of tenants that have them written by a '
  'chat model, in scopes that it may read. Returns the newest 40 sources of each, oldest first.';

create function extraction.postpone_summary(summary_key bytea, delay interval, counts_as_attempt boolean,
  max_attempts integer default extraction.max_attempts()) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  has_given_up boolean;
begin
  update extraction.summary_leases c
  set leased_until = null,
    attempts = case when c.attempts + 1 >= max_attempts and counts_as_attempt then 0
      else c.attempts + counts_as_attempt::integer end,
    -- After a day the sources have usually changed.
    next_attempt_at = now() + case when c.attempts + 1 >= max_attempts and counts_as_attempt then interval '1 day' else delay end
  where c.summary_key = postpone_summary.summary_key
  returning old.attempts + 1 >= max_attempts and counts_as_attempt into has_given_up;
  return coalesce(has_given_up, false);
end $$;
comment on function extraction.postpone_summary is 'Ends a lease, due after a delay or, after the last attempt (true), a day.';
grant execute on function extraction.may_write_summaries, extraction.lease_summaries, extraction.postpone_summary to l9_worker;
