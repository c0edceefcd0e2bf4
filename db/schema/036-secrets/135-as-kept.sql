-- Keeps secrets out of audit_log: as_kept() replaces those in what a caller named, before an audit row is written.

create function secrets.redact_texts(value jsonb, tenant_id uuid, own_test text, severities text[])
returns jsonb
language plpgsql
stable
parallel safe
set search_path = ''
as $$
#variable_conflict use_variable
begin
  case jsonb_typeof(value)
    when 'string' then
      return case when secrets.needs_look(value #>> '{}', own_test, false)
        then to_jsonb((secrets.redact_text(value #>> '{}', tenant_id, severities)).redacted) else value end;
    when 'object' then
      return (
        select coalesce(jsonb_object_agg(
          secrets.redact_texts(to_jsonb(o.key), tenant_id, own_test, severities) #>> '{}',
          secrets.redact_texts(o.value, tenant_id, own_test, severities)), '{}')
        from jsonb_each(value) as o);
    when 'array' then
      return (
        select coalesce(jsonb_agg(secrets.redact_texts(a.value, tenant_id, own_test, severities) order by a.place), '[]')
        from jsonb_array_elements(value) with ordinality as a (value, place));
    else
      return value;
  end case;
end
$$;

comment on function secrets.redact_texts(jsonb, uuid, text, text[]) is
  'A document with the secrets in its texts and keys replaced. The name of a member does not make its value a secret: the audit log is full of ids of keys and tokens.';

-- Every audit row of a call is made with this function, which belongs to the chapter audit.
create or replace function audit.as_kept(named jsonb, tenant_id uuid)
returns jsonb
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  -- Not by own_test(): every audit row of a call pays for this, and a query in plpgsql costs a third of a call.
  own_test constant text := (select s.own_test from public.secret_settings s where s.tenant_id = as_kept.tenant_id);
begin
  return case when secrets.needs_look(named::text, own_test, false)
    then secrets.redact_texts(named, tenant_id, own_test, secrets.severities_for(tenant_id, false)) else named end;
end
$$;

comment on function audit.as_kept(jsonb, uuid) is
  'What a caller named in a call, as the audit log keeps it: project, scope, filters, tool and references, with each secret replaced, whatever the tenant does with secrets. Not executable by callers: functions of the owner call it.';
