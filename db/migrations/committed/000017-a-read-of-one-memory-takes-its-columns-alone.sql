--! Previous: sha1:bd6316dcbc5f845c35022d2d9b2f74825de81303
--! Hash: sha1:5508f3c0e7b9f728eff087e6b7049fa9adaca24f
--! Message: A read of one memory takes its columns alone

--! split: 1-current.sql
-- A read of one memory over GraphQL takes its columns alone, and get_memory asks once who is recorded, for both of its records.
create or replace function memories.columns_json(memory public.packet_store) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
begin
  return memories.json_of(memory, null)
    || case when memory.text_creator is null then '{}' else jsonb_build_object('text_creator', memory.text_creator) end;
end $$;
comment on function memories.columns_json is 'What memory_json() returns and the memory''s text_creator, without the learned '
  'importance, which would have to be looked up.';
grant execute on function memories.columns_json to l9_agent, l9_admin, l9_platform_admin;

drop function if exists importance.insert_accesses(uuid[], text, uuid[], text[], text[], real[], uuid, text);
create or replace function importance.insert_accesses(
  me identity.identity, access_ids uuid[], access_context text, target_ids uuid[], scopes text[], project_ids text[],
  relevance_scores real[], audit_id uuid, target_type text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if coalesce(cardinality(insert_accesses.target_ids), 0) = 0 then
    return;
  elsif audit.is_on_replica() then
    perform audit.hand_over('accesses', jsonb_build_object('access_ids', insert_accesses.access_ids,
      'access_context', insert_accesses.access_context, 'target_ids', insert_accesses.target_ids,
      'scopes', insert_accesses.scopes, 'project_ids', insert_accesses.project_ids,
      'relevance_scores', insert_accesses.relevance_scores, 'audit_id', insert_accesses.audit_id,
      'target_type', insert_accesses.target_type));
    return;
  end if;
  insert into importance.memory_access_log (
    access_id, accessed_at, target_type, target_id, agent_id, access_context, relevance_score, audit_id,
    tenant_id, org_id, user_id, project_id, scope, is_admin)
  select a.access_id, uuid_extract_timestamp(a.access_id), insert_accesses.target_type, a.target_id, me.caller,
    insert_accesses.access_context, a.score, insert_accesses.audit_id, me.tenant_id, me.org_id, me.user_id, a.project_id,
    a.scope, me.role = 'l9_admin'
  from unnest(insert_accesses.access_ids, insert_accesses.target_ids, insert_accesses.scopes, insert_accesses.project_ids,
      insert_accesses.relevance_scores) as a (access_id, target_id, scope, project_id, score)
  where a.scope = any (me.readable_scopes)
    and identity.has_project(me, a.project_id);
end $$;
comment on function importance.insert_accesses is 'Inserts accesses of a caller under the given ids, as far as it may read '
  'their scopes and projects; on a replica they are handed over instead. Not executable by callers.';

create or replace function importance.log_accesses(
  access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[] default null,
  audit_id uuid default null, target_type text default 'memory') returns uuid[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
  access_ids uuid[];
begin
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform identity.raise_error('L9LIM', 'target_ids: at most 100, each with its scope');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  perform importance.insert_accesses(me, access_ids, access_context, target_ids, scopes, project_ids, relevance_scores, audit_id,
    target_type);
  return access_ids;
end $$;

create or replace function importance.record_read(packet_id uuid, project_id text, scope text) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  perform audit.add_audit_row(
    me, uuidv7(), 'READ', 'packet_store', packet_id, left(project_id, 200), left(scope, 63), '{}', null);
  perform importance.insert_accesses(
    me, array[uuidv7()], 'get', array[packet_id], array[scope], array[project_id], null, null, 'memory');
end $$;
comment on function importance.record_read is 'Writes that the caller has read a memory in full: an audit row, as audit_read() '
  'does, and an access log row, as log_accesses() does, but asks once who calls. Definer: callers can''t insert there. What they '
  'could forge with it, they could with those two.';
grant execute on function importance.record_read to l9_agent, l9_admin, l9_platform_admin;

create or replace function audit.store_part(part text, arguments jsonb) returns void
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

create or replace function public.get_memory(packet_id uuid) returns public.packet_store language plpgsql volatile set search_path = '' as $$
declare
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p where p.packet_id = get_memory.packet_id;
  if not found then
    -- A session without an identity is told so: it finds nothing.
    perform identity.require_identity();
    perform memories.raise_not_yours(get_memory.packet_id);
  end if;
  perform importance.record_read(memory.packet_id, memory.project_id, memory.scope);
  return memory;
end $$;
