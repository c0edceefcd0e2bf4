-- What a read on a replica must leave. A replica can't write, so the functions that write records (add_audit_row(),
-- keep_query_text(), insert_accesses()) hand their arguments over there. The gateway takes them with record_of_reads() in
-- the same transaction, and has store_record() call the same functions on the primary before it answers.

-- On the primary this is false whatever a caller sets, so that no caller can read there without leaving the record.
create function audit.is_on_replica() returns boolean language sql volatile parallel safe return pg_catalog.pg_is_in_recovery();
comment on function audit.is_on_replica is 'True on a hot standby, where nothing can be written.';

create function audit.hand_over(part text, arguments jsonb) returns void language plpgsql volatile set search_path = '' as $$
declare
  record constant jsonb := nullif(current_setting('l9.record_of_reads', true), '')::jsonb;
begin
  if record is null or session_user <> 'l9_gateway' or identity.current_role_name() = 'l9_platform_admin' then
    raise exception using errcode = 'read_only_sql_transaction',
      message = 'this read must be recorded, which a replica can''t do: read on the primary';
  end if;
  perform set_config('l9.record_of_reads', (record || jsonb_build_array(jsonb_build_object(part, arguments)))::text, true);
end $$;
comment on function audit.hand_over is 'Adds what a function would write to the record of this transaction. Only the gateway, '
  'which begins it with l9.record_of_reads = [], may read on a replica, and not for operators.';

create function audit.record_of_reads() returns jsonb language sql stable set search_path = ''
return nullif(nullif(pg_catalog.current_setting('l9.record_of_reads', true), ''), '[]')::jsonb;
comment on function audit.record_of_reads is 'What the reads of this transaction on a replica must leave on the primary; null if '
  'nothing. store_record() takes it.';
grant execute on function audit.record_of_reads to l9_agent, l9_admin;
