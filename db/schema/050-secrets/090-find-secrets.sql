-- Looks for secrets in a text of the caller, without storing it. Agents and admins call find_secrets() in psql or GraphQL.
create type public.secret_finding as (
  pattern text, "position" integer, length integer, severity text, line integer, "column" integer);
call identity.describe('public.secret_finding', 'A secret that was found in a text, without the text.
  pattern: The name of the pattern, as in secret_patterns.
  position: Where the secret begins, in characters from 1.
  length: How many characters it has.
  severity: credential, personal, strict or session, as in secret_patterns.
  line: The line that it begins in, from 1.
  column: The character of that line with which it begins, from 1.');

create function secrets.max_findings() returns integer language sql immutable parallel safe return 1000;
comment on function secrets.max_findings is 'How many findings find_secrets() returns.';

create function public.find_secrets(content text, is_session boolean default false) returns setof public.secret_finding
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  starts integer[];
begin
  if octet_length(content) > 1048576 then
    perform identity.raise_error('L9LIM', 'content: at most 1048576 bytes (1 MiB)');
  end if;
  if not secrets.needs_look(content, secrets.own_test(me.tenant_id), true) then
    return;
  end if;
  starts := secrets.line_starts(content);
  return query
    select f.pattern, f."position", f.length,
      (select p.severity from public.secret_patterns p where p.name = f.pattern
        and (p.tenant_id is null or p.tenant_id = me.tenant_id) order by p.tenant_id nulls first limit 1),
      n.line, f."position" - starts[n.line] + 1
    from secrets.find_in_text(
      content, me.tenant_id, case when is_session then secrets.severities_for(me.tenant_id, true)
        else '{credential,personal,strict}' end,
      secrets.max_findings()) as f
    cross join lateral width_bucket(f."position", starts) as n (line)
    order by f."position", f.pattern limit secrets.max_findings();
end $$;
comment on function public.find_secrets is 'Looks for secrets, personal data and long tokens in a text of at most 1 MiB, and '
  'stores nothing; with is_session for everything that a session must not hold. It returns the names of the patterns and the '
  'places of the first 1000, never the text. Errors: L9LIM, L9AUT. Definer: compares with the patterns and exceptions of the '
  'caller''s tenant alone.';
grant execute on function public.find_secrets to l9_agent, l9_admin;
