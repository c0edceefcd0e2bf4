-- The other half of a read on a replica. The gateway calls store_record() on the primary, with the claims of the read, before it
-- answers.
create function audit.max_age_of_record() returns interval language sql immutable parallel safe return interval '10 minutes';
comment on function audit.max_age_of_record is 'How far the clocks of replica and primary, and the read itself, may be apart.';

-- The ids were made on the replica. They tell the time, so that a caller could otherwise date its accesses as it likes.
create function audit.check_ids_of_record(ids uuid[]) returns void language plpgsql stable set search_path = '' as $$
begin
  if exists (
    select from unnest(ids) as i (id)
    where (uuid_extract_version(i.id) = 7 and uuid_extract_timestamp(i.id) between clock_timestamp() - audit.max_age_of_record()
      and clock_timestamp() + audit.max_age_of_record()) is not true) then
    perform identity.raise_error('L9VAL', 'record: its ids must be UUIDs version 7 of the last minutes');
  end if;
end $$;
comment on function audit.check_ids_of_record is 'Raises L9VAL unless each id was made within max_age_of_record().';

-- A part is an audit row, the text of a query, or accesses. The functions that write them for a read on the primary write
-- them here, under the ids that they got on the replica, which hold the time.
create function audit.store_part(part text, arguments jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
  id constant uuid := (arguments ->> 'audit_id')::uuid;
  details constant jsonb := nullif(arguments -> 'details', 'null');
  accesses record;
begin
  case part
  when 'audit_row' then
    perform audit.check_ids_of_record(array[id]);
    if (arguments ->> 'operation' in ('SEARCH', 'READ', 'STATS', 'EXPORT')) is not true then
      perform identity.raise_error('L9VAL', 'record: operation must be SEARCH, READ, STATS or EXPORT');
    elsif octet_length((details - 'ids')::text) > 65536 or octet_length((details -> 'ids')::text) > 4194304 then
      perform identity.raise_error('L9LIM', 'record: details at most 65536 bytes, ids at most 4194304');
    end if;
    perform audit.add_audit_row(identity.current_identity(), id, arguments ->> 'operation', left(arguments ->> 'table_name', 63),
      (arguments ->> 'row_id')::uuid, left(arguments ->> 'project_id', 200), left(arguments ->> 'scope', 63),
      details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], null);
  when 'query_text' then
    perform audit.check_ids_of_record(array[id]);
    if octet_length(arguments ->> 'query') > 32768 then
      perform identity.raise_error('L9LIM', 'record: query at most 32768 bytes');
    end if;
    perform audit.keep_query_text(identity.current_identity(), id, left(arguments ->> 'scope', 63), arguments ->> 'query');
  when 'accesses' then
    select a.* into accesses
    from jsonb_to_record(arguments) as a (access_ids uuid[], access_context text, target_ids uuid[], scopes text[],
      project_ids text[], relevance_scores real[], audit_id uuid, target_type text);
    perform audit.check_ids_of_record(accesses.access_ids);
    if cardinality(accesses.target_ids) > 100 or (cardinality(accesses.access_ids) = cardinality(accesses.target_ids)
      and cardinality(accesses.scopes) = cardinality(accesses.target_ids)) is not true then
      perform identity.raise_error('L9LIM', 'record: at most 100 accesses, each with its target and scope');
    end if;
    perform importance.insert_accesses(identity.current_identity(), accesses.access_ids, accesses.access_context,
      accesses.target_ids, accesses.scopes, accesses.project_ids, accesses.relevance_scores, accesses.audit_id,
      accesses.target_type);
  else
    perform identity.raise_error('L9VAL', 'record: must be what record_of_reads() returned');
  end case;
end $$;
comment on function audit.store_part is 'Checks one part of a record, and writes it.';

create function audit.store_record(record jsonb) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  part record;
begin
  perform identity.require_identity();
  if jsonb_typeof(record) is distinct from 'array' or jsonb_array_length(record) = 0 then
    perform identity.raise_error('L9VAL', 'record: must be what record_of_reads() returned');
  end if;
  for part in
    select k.key, k.value from jsonb_array_elements(record) with ordinality as e (entry, place)
    cross join lateral jsonb_each(case jsonb_typeof(e.entry) when 'object' then e.entry else '{"": null}' end) as k
    order by e.place
  loop
    if part.key = 'query_text' and not record @> jsonb_build_array(
      jsonb_build_object('audit_row', jsonb_build_object('audit_id', part.value -> 'audit_id'))) then
      perform identity.raise_error('L9VAL', 'record: a query must come with the audit row of its search');
    end if;
    perform audit.store_part(part.key, part.value);
  end loop;
end $$;
comment on function audit.store_record is 'Writes on the primary what reads on a replica must leave, as record_of_reads() '
  'returned it there, with the claims of those reads. A caller can only add rows about itself, as with audit_read(). '
  'Errors: L9VAL, L9LIM, L9AUT. Definer: writes audit_log, audit_query_texts and the access log.';
grant execute on function audit.store_record to l9_agent, l9_admin;
