-- Writes the access log. Searches, get_document() and the functions that read facts call log_accesses(); get_memory() calls
-- record_read().
create function importance.insert_accesses(
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

create function importance.log_accesses(
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
comment on function importance.log_accesses is 'Writes what the caller was shown to the access log, in one statement, and '
  'returns the access ids in the same order. It writes nothing when an operator reads another tenant, because that is not use. '
  'Definer: callers can''t insert there. Whatever a caller could forge with it concerns only itself and its own scopes, and '
  'roll_up_accesses counts a row only if the memory or fact agrees with it.';

create function importance.record_read(packet_id uuid, project_id text, scope text) returns void
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
grant execute on function importance.log_accesses, importance.record_read to l9_agent, l9_admin, l9_platform_admin;
