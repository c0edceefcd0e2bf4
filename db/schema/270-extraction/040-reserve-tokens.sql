-- Keeps the calls of chat models within the budget of a tenant. The gateway reserves tokens before each call and
-- records the real cost afterwards.
create function extraction.is_active_tenant(tenant_id uuid) returns boolean
language sql stable security definer set search_path = ''
return exists (select from public.tenants t where t.tenant_id = is_active_tenant.tenant_id and t.is_active);
comment on function extraction.is_active_tenant is 'True if the tenant is active. Definer: jobs can''t read tenants.';

create function extraction.reserve_tokens(tenant_id uuid, tokens bigint) returns date
language plpgsql volatile set search_path = '' as $$
declare
  today constant date := (now() at time zone 'utc')::date;
begin
  insert into public.extraction_usage (tenant_id, day) values (reserve_tokens.tenant_id, today) on conflict do nothing;
  -- A concurrent call waits for this row lock and then sees what is reserved here.
  update public.extraction_usage u
  set calls = u.calls + 1, reserved_tokens = u.reserved_tokens + greatest(tokens, 0), updated_at = clock_timestamp()
  from public.extraction_settings s
  where u.tenant_id = reserve_tokens.tenant_id and u.day = today and s.tenant_id = u.tenant_id
    and (s.is_enabled or s.writes_summaries) and extraction.is_active_tenant(u.tenant_id)
    and u.prompt_tokens + u.completion_tokens + u.reserved_tokens + greatest(tokens, 0) <= s.tokens_per_day;
  return case when found then today end;
end $$;
comment on function extraction.reserve_tokens is 'Reserves a call''s highest cost and returns the day, for record_token_usage(). '
  'Null: no budget left, or the tenant is inactive or wants neither extraction nor summaries.';

create function extraction.record_token_usage(
  tenant_id uuid, day date, reserved bigint, prompt_tokens bigint, completion_tokens bigint, has_failed boolean default false)
returns void
language sql volatile set search_path = ''
begin atomic
  update public.extraction_usage u
  set reserved_tokens = u.reserved_tokens
      - case when record_token_usage.prompt_tokens is null then 0 else least(greatest(reserved, 0), u.reserved_tokens) end,
    -- Counts of the provider are clamped, so a negative count can't give tokens back.
    prompt_tokens = u.prompt_tokens + least(greatest(coalesce(record_token_usage.prompt_tokens, 0), 0), 1000000000),
    completion_tokens = u.completion_tokens + least(greatest(coalesce(record_token_usage.completion_tokens, 0), 0), 1000000000),
    failed_calls = u.failed_calls + has_failed::integer, updated_at = clock_timestamp()
  where u.tenant_id = record_token_usage.tenant_id and u.day = record_token_usage.day;
end;
comment on function extraction.record_token_usage is 'Replaces a reservation by the real cost; null keeps it.';
grant execute on function extraction.is_active_tenant, extraction.reserve_tokens, extraction.record_token_usage to l9_worker;
