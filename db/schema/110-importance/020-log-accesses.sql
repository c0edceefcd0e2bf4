-- Writes the access log. Searches, get_memory(), get_document() and the functions that read facts call log_accesses().
create function importance.insert_accesses(
  access_ids uuid[], access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[],
  audit_id uuid, target_type text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
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
comment on function importance.insert_accesses is 'Inserts accesses of the caller under the given ids, as far as it may read '
  'their scopes and projects; on a replica they are handed over instead. Not executable by callers.';

create function importance.log_accesses(
  access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[] default null,
  audit_id uuid default null, target_type text default 'memory') returns uuid[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  access_ids uuid[];
begin
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform identity.raise_error('L9LIM', 'target_ids: at most 100, each with its scope');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  perform importance.insert_accesses(access_ids, access_context, target_ids, scopes, project_ids, relevance_scores, audit_id,
    target_type);
  return access_ids;
end $$;
comment on function importance.log_accesses is 'Writes what the caller was shown to the access log, in one statement, and '
  'returns the access ids in the same order. It writes nothing when an operator reads another tenant, because that is not use. '
  'Definer: callers can''t insert there. Whatever a caller could forge with it concerns only itself and its own scopes, and '
  'roll_up_accesses counts a row only if the memory or fact agrees with it.';
grant execute on function importance.log_accesses to l9_agent, l9_admin, l9_platform_admin;
