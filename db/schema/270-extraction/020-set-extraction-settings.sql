-- Administrators switch extraction and written summaries on and off here, over GraphQL and psql, and set their limits.
create function public.set_extraction_settings(is_enabled boolean default null, kinds text[] default null,
  scopes text[] default null, writes_summaries boolean default null, tokens_per_day bigint default null,
  tenant_id uuid default null) returns public.extraction_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_extraction_settings.tenant_id);
  saved public.extraction_settings;
  unknown_scope text;
begin
  if cardinality(set_extraction_settings.kinds) > 64 then
    perform identity.raise_error('L9LIM', 'kinds: at most 64');
  elsif not extraction.are_kinds(set_extraction_settings.kinds) then
    perform identity.raise_error('L9VAL', 'kinds: must be lower-case words of letters, digits and _, at most 63 characters each');
  elsif cardinality(set_extraction_settings.scopes) > 64 then
    perform identity.raise_error('L9LIM', 'scopes: at most 64');
  elsif not extraction.is_budget(set_extraction_settings.tokens_per_day) then
    perform identity.raise_error('L9VAL', 'tokens_per_day: must be from 50000 (the most that one call can cost) to 10^12');
  end if;
  select n.scope into unknown_scope
  from unnest(set_extraction_settings.scopes) as n (scope)
  where not exists (select from public.scopes s where s.tenant_id = admin.target_tenant_id and s.scope = n.scope) limit 1;
  if found then
    perform identity.raise_error('L9VAL', 'scopes: must be existing scopes of the tenant');
  end if;

  insert into public.extraction_settings (tenant_id) values (admin.target_tenant_id) on conflict do nothing;
  update public.extraction_settings s
  set is_enabled = coalesce(set_extraction_settings.is_enabled, s.is_enabled),
    kinds = array(select distinct k.kind from unnest(coalesce(set_extraction_settings.kinds, s.kinds)) as k (kind) order by 1),
    scopes = array(select distinct n.scope from unnest(coalesce(set_extraction_settings.scopes, s.scopes)) as n (scope)
      order by 1),
    writes_summaries = coalesce(set_extraction_settings.writes_summaries, s.writes_summaries),
    tokens_per_day = coalesce(set_extraction_settings.tokens_per_day, s.tokens_per_day), updated_at = clock_timestamp()
  where s.tenant_id = admin.target_tenant_id returning s.* into saved;
  return saved;
end $$;
comment on function public.set_extraction_settings is 'Changes the given settings of what a chat model may read, from the next '
  'save on. kinds: those to extract from, at most 64. scopes: at most 64; memories of others are never sent to a model. '
  'writes_summaries: it also writes due summaries. tokens_per_day: from 50000 to 10^12. For admins with a whole token. Audited. '
  'Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: only this function writes settings.';
grant execute on function public.set_extraction_settings to l9_admin, l9_platform_admin;
