-- The triggers of packet_store that old memories pass by, and the audit of secrets in place of one of them.
-- import_legacy() calls both.

create function legacy_import.skipped_triggers()
returns text[]
language sql stable set search_path = ''
return array(
  select quote_ident(t.tgname)
  from pg_catalog.pg_trigger t
  where t.tgrelid = 'public.packet_store'::regclass and t.tgenabled <> 'D'
    and t.tgfoid = any (array[
      -- They stamp the writer and the time, and check what this caller may write.
      'packets.tg_packet_store__stamp',
      -- They hold a memory to the rules of its kind, which old memories were written without.
      'packets.tg_packet_store__apply_kind', 'packets.tg_packet_store__check_successor',
      'events.tg_packet_store__check_envelope', 'events.tg_packet_store__fill_columns',
      -- It refuses or redacts secrets, and old memories are kept as they are.
      'secrets.tg_packet_store__guard_secrets']::regproc[]));

comment on function legacy_import.skipped_triggers is
  'The triggers of packet_store that an import switches off in its own transaction, which keeps other writers waiting '
  'meanwhile.';

create function legacy_import.audit_secrets(fields jsonb, tenant_id uuid, operation text)
returns void
language sql volatile set search_path = ''
begin atomic
  select audit.write_audit_of_tenant(audit_secrets.tenant_id, audit_secrets.operation, 'packet_store',
    details => jsonb_build_object('allowed_secrets', f.found))
  from (
    select jsonb_agg(distinct jsonb_build_object(
      'field', split_part(secrets.field_of(f.path), '.', 1), 'pattern', f.pattern)) as found
    from secrets.find_in_document_of(audit_secrets.tenant_id, jsonb_strip_nulls(audit_secrets.fields), false, 1000) f
  ) f
  where f.found is not null;
end;

comment on function legacy_import.audit_secrets is
  'Audits the secrets in fields of a memory that are kept, as the guard does where a tenant allows them.';
