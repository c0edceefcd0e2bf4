-- Whether a chat model may read a session to write its summary, or to draft memories from it. The gateway asks before it sends a
-- prepared session to a model.
create function archive.may_be_summarized(archive_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  prepared archive.prepared_sessions := archive.own_prepared(may_be_summarized.archive_id);
begin
  return exists (
    select from public.extraction_settings s
    where s.tenant_id = prepared.acting_tenant_id and s.writes_summaries and prepared.scope = any (s.scopes));
end $$;
comment on function archive.may_be_summarized is 'True if the tenant lets a chat model write summaries in the scope of a session '
  'that the caller prepared. Raises L9VAL if there is none. Definer: callers read neither prepared_sessions nor the settings.';

create function archive.may_be_drafted_from(archive_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  prepared archive.prepared_sessions := archive.own_prepared(may_be_drafted_from.archive_id);
begin
  return exists (
    select from public.extraction_settings s
    where s.tenant_id = prepared.acting_tenant_id and extraction.is_wanted(s, 'session', prepared.scope, null));
end $$;
comment on function archive.may_be_drafted_from is 'True if the tenant lets a chat model extract from sessions in the scope of '
  'one that the caller prepared. Raises L9VAL if there is none. Definer: callers read neither prepared_sessions nor the '
  'settings.';
grant execute on function archive.may_be_summarized, archive.may_be_drafted_from to l9_agent, l9_admin;
