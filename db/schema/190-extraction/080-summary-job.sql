-- What the job that has a chat model write summaries calls, as l9_worker. No transaction is open while the model answers.

create table extraction.summary_leases (
  summary_key bytea primary key,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz
);

comment on table extraction.summary_leases is
  'Due summaries that a job is at, or failed to write. What is due is worked out by due_summaries_for_job() and its like; rows that nobody needs any more go after a week.';
comment on column extraction.summary_leases.summary_key is 'A hash of room and subject: neither can be told from it.';
comment on column extraction.summary_leases.attempts is 'How often no answer of use was got.';
comment on column extraction.summary_leases.leased_until is 'A job works on it until then; later, another may take it.';

alter table extraction.summary_leases enable row level security;
alter table extraction.summary_leases force row level security;
create policy worker_access on extraction.summary_leases to l9_worker using (true);
comment on policy worker_access on extraction.summary_leases is 'Only jobs know it.';
grant select, insert, update, delete on extraction.summary_leases to l9_worker;

create function extraction.may_write_summaries()
returns boolean
language sql
stable
set search_path = ''
return exists (select from public.extraction_settings s where s.writes_summaries);

comment on function extraction.may_write_summaries() is 'Whether a tenant has its summaries written by a chat model.';

create function extraction.lease_summaries(batch_size integer, lease interval)
returns table (
  summary_key bytea, tenant_id uuid, org_id uuid, user_id uuid, scope text, project_id text, scope_type text, scope_value text,
  packet_ids uuid[], content_hashes bytea[], contents text[], saved_at timestamptz[])
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  candidate record;
begin
  delete from extraction.summary_leases c
  where coalesce(c.leased_until, c.next_attempt_at) < now() - interval '7 days' and c.next_attempt_at < now() - interval '7 days';
  for candidate in
    select d.*, sha256(convert_to(jsonb_build_array(
      packets.audience_id(d.tenant_id, d.org_id, d.user_id, d.project_id, d.scope), d.scope_type, d.scope_value)::text, 'UTF8')) as key
    from public.extraction_settings s
    cross join lateral summaries.find_due(null, s.tenant_id, null, null, null, null, 40, 100) d
    where s.writes_summaries and d.scope = any (s.scopes)
  loop
    insert into extraction.summary_leases as c (summary_key, leased_until) values (candidate.key, now() + lease)
    on conflict (summary_key) do update set leased_until = excluded.leased_until
      where c.next_attempt_at <= now() and (c.leased_until is null or c.leased_until < now());
    continue when not found;
    return query
    select candidate.key, candidate.tenant_id, candidate.org_id, candidate.user_id, candidate.scope, candidate.project_id,
      candidate.scope_type, candidate.scope_value, array_agg(p.packet_id order by p."timestamp", p.packet_id),
      array_agg(p.content_hash order by p."timestamp", p.packet_id), array_agg(p.envelope ->> 'content' order by p."timestamp", p.packet_id),
      array_agg(p."timestamp" order by p."timestamp", p.packet_id)
    from public.packet_store p
    where p.packet_id = any (candidate.source_packet_ids)
    having count(*) > 0;
    batch_size := batch_size - 1;
    exit when batch_size <= 0;
  end loop;
end
$$;

comment on function extraction.lease_summaries(integer, interval) is
  'Takes up to batch_size due summaries of tenants that have them written by a chat model, in scopes that it may read, for the length of the lease; with the newest 40 sources of each, the oldest first.';

create function extraction.store_model_summary(
  summary_key bytea, scope_type text, scope_value text, summary jsonb, packet_ids uuid[], content_hashes bytea[], model text)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  -- All that is taken from an answer; what is too much is cut.
  listed constant jsonb := jsonb_build_object('key_facts', '[]'::jsonb, 'key_entities', '[]'::jsonb, 'key_decisions', '[]'::jsonb) || summary;
begin
  delete from extraction.summary_leases c where c.summary_key = store_model_summary.summary_key;
  perform from public.packet_store p where p.packet_id = any (packet_ids) order by p.packet_id for share;
  if exists (
    select from unnest(packet_ids, content_hashes) as read (packet_id, content_hash)
    where not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = read.packet_id and p.content_hash = read.content_hash and s.writes_summaries and p.scope = any (s.scopes)
        and (p.ttl is null or p.ttl > now()))
  ) then
    return false; -- Changed, gone, or wanted no more since it was claimed: what is due still is claimed anew.
  end if;
  perform summaries.store_summary(
    store_model_summary.scope_type, store_model_summary.scope_value, left(summary ->> 'summary', 20000), packet_ids,
    extraction.summary_texts(listed -> 'key_facts'), extraction.summary_texts(listed -> 'key_entities'),
    extraction.summary_texts(listed -> 'key_decisions'), least(greatest((listed ->> 'confidence')::double precision, 0), 1),
    model => store_model_summary.model);
  return true;
end
$$;

comment on function extraction.store_model_summary(bytea, text, text, jsonb, uuid[], bytea[], text) is
  'Stores what a chat model made of these memories. False, and nothing stored, where one of them was changed, moved or deleted since it was read, or the tenant does not want it any more. Who may read it is worked out of the sources, whatever the answer holds.';

create function extraction.summary_texts(list jsonb)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select pg_catalog.left(pg_catalog.btrim(i.value), 200)
  from jsonb_array_elements_text(case pg_catalog.jsonb_typeof(list) when 'array' then list else '[]' end) with ordinality as i (value, place)
  where i.value ~ '\S' and i.place <= 20
  order by i.place);

comment on function extraction.summary_texts(jsonb) is 'The first 20 texts of a list, 200 characters of each at most.';

create function extraction.postpone_summary(summary_key bytea, delay interval, counts_as_attempt boolean, most_attempts integer default 5)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  has_given_up boolean;
begin
  update extraction.summary_leases c
  set leased_until = null,
    attempts = case when c.attempts + 1 >= most_attempts and counts_as_attempt then 0 else c.attempts + counts_as_attempt::integer end,
    -- Its sources are others by then.
    next_attempt_at = now() + case when c.attempts + 1 >= most_attempts and counts_as_attempt then interval '1 day' else delay end
  where c.summary_key = postpone_summary.summary_key
  returning old.attempts + 1 >= most_attempts and counts_as_attempt into has_given_up;
  return coalesce(has_given_up, false);
end
$$;

comment on function extraction.postpone_summary(bytea, interval, boolean, integer) is
  'Leaves a due summary for later: after its last attempt (then it says true) for a day.';

grant execute on function
  extraction.may_write_summaries(), extraction.lease_summaries(integer, interval), extraction.summary_texts(jsonb),
  extraction.store_model_summary(bytea, text, text, jsonb, uuid[], bytea[], text),
  extraction.postpone_summary(bytea, interval, boolean, integer)
to l9_worker;
