-- The hashes of audit_log: of a row, of the rows of a seal, and of a seal. seal_audit() computes them, and
-- verify_audit() computes them again.

-- The hashed text is JSON, so that two different rows never have the same text. Times are seconds since 1970, so that the text
-- does not depend on session settings.

create function audit.audit_row_hash(audit_row public.audit_log) returns bytea
language sql stable parallel safe set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  (audit_row).audit_id, extract(epoch from (audit_row).occurred_at)::text, (audit_row).xid::text,
  (audit_row).operation, (audit_row).table_name, (audit_row).row_id, (audit_row).tenant_id, (audit_row).project_id,
  (audit_row).scope, (audit_row).status, (audit_row).sqlstate, (audit_row).details)::text, 'UTF8'));
comment on function audit.audit_row_hash is 'SHA-256 of the JSON array [audit_id, occurred_at, xid, operation, table_name, '
  'row_id, tenant_id, project_id, scope, status, sqlstate, details]. Times are seconds since 1970.';

create function audit.audit_rows_hash(audit_ids uuid[], row_hashes bytea[]) returns bytea
language sql immutable parallel safe set search_path = ''
return (
  select pg_catalog.sha256(
    coalesce(pg_catalog.string_agg(pg_catalog.uuid_send(r.audit_id) || r.hash, '' order by r.position), ''))
  from rows from (pg_catalog.unnest(audit_ids), pg_catalog.unnest(row_hashes)) with ordinality as r (audit_id, hash, position));
comment on function audit.audit_rows_hash is 'SHA-256 over the ids and hashes of rows, in order.';

create function audit.audit_seal_hash(seal public.audit_seals) returns bytea
language sql stable parallel safe set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  (seal).seal_id, extract(epoch from (seal).sealed_at)::text, (seal).era, extract(epoch from (seal).era_after)::text,
  (seal).from_xid::text, (seal).to_xid::text, (seal).row_count, extract(epoch from (seal).first_occurred_at)::text,
  extract(epoch from (seal).last_occurred_at)::text, pg_catalog.encode((seal).rows_hash, 'hex'),
  pg_catalog.encode((seal).previous_hash, 'hex'))::text, 'UTF8'));
comment on function audit.audit_seal_hash is 'SHA-256 of the JSON array [seal_id, sealed_at, era, era_after, from_xid, to_xid, '
  'row_count, first_occurred_at, last_occurred_at, rows_hash, previous_hash]. Times are seconds since 1970, hashes are '
  'hexadecimal.';
