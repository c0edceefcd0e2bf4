-- Replaces secrets in documents: audit.as_kept() calls it for what a caller named, before an audit row is written.
create function secrets.redact_texts(value jsonb, tenant_id uuid, own_test text, severities text[]) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
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
end $$;
comment on function secrets.redact_texts is 'A document with the secrets in its texts and keys replaced. The name of a member '
  'does not make its value a secret: the audit log is full of ids of keys and tokens.';
