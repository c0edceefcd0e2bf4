-- Audits a request that the gateway refused before it had an identity, or that came too often. The gateway calls
-- audit_denial() as l9_worker. The row names the table actors, in which the gateway looked for the caller.
create function audit.audit_denial(
  entry_point text, reason text, address text, tenant_id uuid, caller text, sqlstate text, times integer) returns void
language sql volatile security definer set search_path = ''
begin atomic
  insert into public.audit_log (operation, table_name, tenant_id, status, sqlstate, details)
  values ('DENIED', 'actors', tenant_id, 'error', sqlstate,
    pg_catalog.jsonb_build_object(
      'caller', coalesce(pg_catalog.left(nullif(caller, ''), 63), 'unknown'), 'creator', null, 'source', null,
      'tool_name', coalesce(pg_catalog.left(nullif(entry_point, ''), 100), 'unknown'),
      'reason', pg_catalog.left(reason, 200), 'address', pg_catalog.left(address, 100), 'times', times));
end;
comment on function audit.audit_denial is 'Audits that the gateway refused a request without an identity (L9AUT), or one beyond '
  'a rate limit (L9RAT); `times` counts requests that were refused alike. tenant_id and caller are those of a token with a valid '
  'signature or of a known key; if nothing names the caller, they are null and unknown. Definer: writes audit_log.';
grant execute on function audit.audit_denial to l9_worker;
