-- The trigger of audit_query_texts that replaces secrets in the text of a search before it is kept.
create function secrets.tg_audit_query_texts__redact() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- A search for a secret is answered, but its text is not kept.
  if secrets.needs_look(new.query, secrets.own_test(new.tenant_id), false) then
    new.query := (secrets.redact_text(new.query, new.tenant_id, secrets.severities_for(new.tenant_id, false))).redacted;
  end if;
  return new;
end $$;
comment on function secrets.tg_audit_query_texts__redact is 'Replaces secrets in the text of a search before it is kept. '
  'Definer: reads the settings of the row''s tenant.';

create trigger _100_redact before insert or update of query on public.audit_query_texts
  for each row execute function secrets.tg_audit_query_texts__redact();
