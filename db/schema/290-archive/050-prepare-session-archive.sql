-- The first step of archiving: filter a session, scan it for secrets, and keep what the index will say of it. The
-- operation store_session_to_cascade calls prepare_session_archive().
create table archive.prepared_sessions (
  archive_id uuid primary key default uuidv7(),
  acting_tenant_id uuid not null references public.tenants,
  caller text not null,
  acting_user_id uuid,
  scope text not null, project_id text,
  session_key text not null,
  source_tool text,
  title text not null,
  summary text not null,
  started_at timestamptz,
  ended_at timestamptz,
  message_count integer not null,
  messages_given integer not null,
  tags text[] not null,
  redacted integer not null,
  prepared_at timestamptz not null default clock_timestamp()
);
alter table archive.prepared_sessions alter column session_key set statistics 0, alter column title set statistics 0,
  alter column summary set statistics 0, alter column tags set statistics 0;
call identity.describe('archive.prepared_sessions', 'Sessions that were filtered and found to be free of secrets, until the bytes
    are stored: finish_session_archive() takes what it stores from here, so that nothing unscanned gets into the index.
  archive_id: The id that the archive will have.
  acting_tenant_id: The tenant of the caller.
  caller: Who prepared it, and alone may finish it.
  acting_user_id: The user that the caller acted for.
  scope: The scope it will have.
  project_id: The project it will have.
  session_key: The session id in the document.
  source_tool: The tool that recorded the session.
  title: The first line of the summary, or the session id.
  summary: The summary in the document.
  started_at: When the session began.
  ended_at: When the session ended.
  message_count: How many messages the document has.
  messages_given: How many messages the session was given with.
  tags: Labels.
  redacted: How many secrets were replaced.
  prepared_at: When it was prepared. An hour later it is removed.');
call identity.keep_private('archive.prepared_sessions', functions => 'Functions prepare and finish archives.');
-- Callers have no grant.

create function archive.narrowest_scope() returns text language sql stable set search_path = ''
begin atomic
  select s.scope
  from public.scopes s
  where s.tenant_id = identity.current_tenant_id() and s.scope = any ((identity.current_identity()).writable_scopes)
  -- By what the scopes are for. If other actors' rights decided, registering an actor could widen the default of everyone.
  order by s.is_project_scoped desc,
    case s.scope when 'l-private' then case identity.current_caller() when 'L' then 0 else 3 end
      when 'developer' then 2 when 'global' then 2 else 1 end, s.scope
  limit 1;
end;
comment on function archive.narrowest_scope is 'The default scope of an archive: the narrowest that the caller may write, where '
  'l-private is that of L alone.';

create type archive.prepared_session as (archive_id uuid, tenant_id uuid, document text, findings jsonb, redacted integer);
comment on type archive.prepared_session is 'A session that may be stored: document is what is to be encrypted. With findings (a '
  'list of pattern, path, line and column) it may not, and document is null.';

-- The stored document is the scanned one: it is built once, scanned as a whole, and returned for encryption, and
-- title, summary and tags are taken from it.
create function archive.prepare_session_archive(
  session jsonb, scope text default null, project_id text default null, tags text[] default null, redact boolean default false)
returns archive.prepared_session
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  answer archive.prepared_session;
  document jsonb;
  cleaned record;
  summary text;
begin
  if session ? 'tags' or tags is not null then
    session := session || jsonb_build_object('tags', coalesce(
      (select jsonb_agg(distinct t.tag) from (
        select jsonb_array_elements(case when jsonb_typeof(session -> 'tags') = 'array' then session -> 'tags'
          else '[]' end) as tag
        union all select to_jsonb(u.tag) from unnest(tags) as u (tag)) t), '[]'));
  end if;
  scope := coalesce(scope, archive.narrowest_scope());
  project_id := packets.project_or_default(project_id, scope);
  perform packets.check_scope(scope, project_id);
  if packets.needs_review(me.tenant_id, me.caller, scope, project_id, 'session', me.source) then
    perform identity.raise_error('L9IMM',
      'scope: sessions that you archive there need a review, and an archive can''t wait for one; name another scope');
  end if;
  -- It is no part of the session that is scanned below, and would be kept until the memory with it is refused.
  perform secrets.guard(jsonb_build_object('project_id', project_id), me.tenant_id, 'session_archives', 'ARCHIVE', false);
  document := archive.allowed_document(session, coalesce(
    (select s.archive_fields from public.archive_settings s where s.tenant_id = me.tenant_id), '{}'));
  answer.document := document::text;
  if jsonb_array_length(coalesce(document -> 'tags', '[]')) > packets.max_tags() then
    perform identity.raise_error('L9LIM', format('tags: at most %s', packets.max_tags()));
  elsif octet_length(answer.document) > archive.max_session_bytes() then
    perform identity.raise_error('L9LIM',
      format('session: at most %s bytes, got %s', archive.max_session_bytes(), octet_length(answer.document)));
  end if;
  answer.redacted := 0;
  if redact then
    cleaned := secrets.redact_document(document, true);
    document := cleaned.document;
    answer.document := document::text;
    answer.redacted := cleaned.replaced;
  end if;
  -- Also after a redaction: one finding, and nothing is stored.
  select jsonb_agg(distinct jsonb_build_object('pattern', f.pattern, 'path', f.path, 'line', f.line, 'column', f."column"))
  into answer.findings
  from secrets.find_in_document(document, true) as f;
  if answer.findings is not null then
    -- The gateway lets what is prepared be lost in a power cut, but not the record of a refusal.
    perform set_config('synchronous_commit', 'on', true);
    perform audit.write_audit('ARCHIVE', 'session_archives', project_id => project_id, scope => scope, sqlstate => 'L9SEC',
      details => jsonb_build_object('findings', answer.findings));
    answer.document := null;
    return answer;
  end if;
  summary := coalesce(document ->> 'summary', '');
  answer.archive_id := uuidv7();
  answer.tenant_id := me.tenant_id;
  insert into archive.prepared_sessions (
    archive_id, acting_tenant_id, caller, acting_user_id, scope, project_id, session_key, source_tool, title, summary,
    started_at, ended_at, message_count, messages_given, tags, redacted)
  values (
    answer.archive_id, me.tenant_id, me.caller, me.user_id, scope, project_id, document ->> 'session_id',
    document ->> 'tool_name', left(coalesce(nullif(btrim(split_part(summary, E'\n', 1)), ''), document ->> 'session_id'), 200),
    summary, kinds.field_time(document -> 'timestamp'), kinds.field_time(document -> 'ended_at'),
    coalesce(jsonb_array_length(document -> 'messages'), 0),
    case when jsonb_typeof(session -> 'messages') = 'array' then jsonb_array_length(session -> 'messages') else 0 end,
    array(select jsonb_array_elements_text(coalesce(document -> 'tags', '[]'))), answer.redacted);
  return answer;
end $$;
comment on function archive.prepare_session_archive is 'Filters a session by the list of fields that are stored, and looks for '
  'secrets, personal data and long tokens in all of it. With a finding nothing is kept, an audit row names patterns and paths, '
  'and so does the answer; redact replaces what is found first. The default scope is narrowest_scope(). Definer: reads settings '
  'and writes prepared_sessions.';
grant execute on function archive.prepare_session_archive to l9_agent, l9_admin;
