-- The access log as callers read it, in psql and over GraphQL: accesses, joined with feedback, the text of the search
-- and the references of the memory or fact.
create function importance.query_text_of(audit_id uuid) returns text language sql stable security definer set search_path = ''
return (
  select q.query
  from public.audit_query_texts q
  left join identity.current_identity() as me on true
  where q.audit_id = query_text_of.audit_id
    and (me.role = 'l9_platform_admin' or pg_catalog.current_setting('is_superuser') = 'on'
      or me.role = 'l9_admin' and q.tenant_id = me.tenant_id and (q.scope is null or q.scope = any (me.readable_scopes))));
comment on function importance.query_text_of is 'The text of a search, if the tenant keeps it, for callers who may read it in '
  'audit_query_texts; null for agents. Definer: agents have no grant on that table, and without this function they could not '
  'read a view that joins it.';
grant execute on function importance.query_text_of to l9_agent, l9_admin, l9_platform_admin;

create view public.memory_access_log
with (security_invoker = true)
as
select
  a.access_id, a.target_type, a.target_id, a.agent_id, a.access_context,
  case when a.audit_id is not null then importance.query_text_of(a.audit_id) end as query_text, a.relevance_score,
  f.was_useful, f.reason as feedback_reason, a.accessed_at, a.tenant_id, a.org_id, a.user_id, a.project_id, a.scope,
  coalesce(p.correlation_id, k.correlation_id, r.correlation_id, s.correlation_id) as correlation_id,
  coalesce(p.session_id, k.session_id, r.session_id, s.session_id) as session_id,
  coalesce(p.trace_id, k.trace_id, r.trace_id, s.trace_id) as trace_id
from importance.memory_access_log a
left join public.memory_feedback f on f.access_id = a.access_id
-- Joined instead of stored, so that a search writes no more for it and rows don't outlive what they tell of their target.
left join public.packet_store p on a.target_type = 'memory' and p.packet_id = a.target_id
left join public.knowledge_facts k on a.target_type = 'fact' and k.fact_id = a.target_id
left join public.entity_relationships r on a.target_type = 'relationship' and r.relationship_id = a.target_id
left join public.session_archives s on a.target_type = 'archive' and s.archive_id = a.target_id;
call identity.describe('public.memory_access_log', 'Which agent saw which memory, fact, relationship or archive, when, for which
    query, and whether it helped. Agents see their own accesses, admins those of their tenant. The underlying table,
    importance.memory_access_log, is append-only.
  access_id: The id to pass to record_feedback. UUID version 7.
  target_type: The type of the target: memory, fact, relationship or archive. Lessons and summaries are memories.
  target_id: The id of the target, which may have been deleted since.
  agent_id: The caller.
  access_context: search if the target was among the hits of a search; get if it was read in full.
  query_text: The text of the query. Admins see it if the tenant keeps query texts (set_query_text_audit) and it was not erased.
  relevance_score: The score of the hit, from 0 to 1; null if the access was not a search.
  was_useful: True if the agent reported that it helped; null if it gave no feedback.
  feedback_reason: The reason for the feedback, in the agent''s words.
  accessed_at: The time of the access, to the millisecond.
  tenant_id: The tenant of the caller.
  org_id: The org that the caller acted for.
  user_id: The user that the caller acted for.
  project_id: The project of the target at the time of the access.
  scope: The scope of the target at the time of the access.
  correlation_id: The correlation id of the target, as far as the reader may read it.
  session_id: The session of the target, as far as the reader may read it.
  trace_id: The trace of the target, as far as the reader may read it.');
grant select on public.memory_access_log to l9_agent, l9_admin, l9_platform_admin;
