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
comment on view public.memory_access_log is 'Which agent saw which memory, fact, relationship or archive, when, for which query, '
  'and whether it helped. Agents see their own accesses, admins those of their tenant. The underlying table, '
  'importance.memory_access_log, is append-only.';
comment on column public.memory_access_log.access_id is 'The id to pass to record_feedback. UUID version 7.';
comment on column public.memory_access_log.target_type is 'The type of the target: memory, fact, relationship or archive. '
  'Lessons and summaries are memories.';
comment on column public.memory_access_log.target_id is 'The id of the target, which may have been deleted since.';
comment on column public.memory_access_log.agent_id is 'The caller.';
comment on column public.memory_access_log.access_context is 'search if the target was among the hits of a search; get if it was '
  'read in full.';
comment on column public.memory_access_log.query_text is 'The text of the query. Admins see it if the tenant keeps query texts '
  '(set_query_text_audit) and it was not erased.';
comment on column public.memory_access_log.relevance_score is 'The score of the hit, from 0 to 1; null if the access was not a '
  'search.';
comment on column public.memory_access_log.was_useful is 'True if the agent reported that it helped; null if it gave no '
  'feedback.';
comment on column public.memory_access_log.feedback_reason is 'The reason for the feedback, in the agent''s words.';
comment on column public.memory_access_log.accessed_at is 'The time of the access, to the millisecond.';
comment on column public.memory_access_log.tenant_id is 'The tenant of the caller.';
comment on column public.memory_access_log.org_id is 'The org that the caller acted for.';
comment on column public.memory_access_log.user_id is 'The user that the caller acted for.';
comment on column public.memory_access_log.project_id is 'The project of the target at the time of the access.';
comment on column public.memory_access_log.scope is 'The scope of the target at the time of the access.';
comment on column public.memory_access_log.correlation_id is 'The correlation id of the target, as far as the reader may read '
  'it.';
comment on column public.memory_access_log.session_id is 'The session of the target, as far as the reader may read it.';
comment on column public.memory_access_log.trace_id is 'The trace of the target, as far as the reader may read it.';
grant select on public.memory_access_log to l9_agent, l9_admin, l9_platform_admin;
