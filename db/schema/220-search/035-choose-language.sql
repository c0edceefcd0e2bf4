-- A trigger of packet_store: a memory whose writer names no language gets one of the languages in the search settings
-- of its tenant.
create function search.tg_packet_store__choose_language() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  languages constant text[] := coalesce(
    (select s.languages from public.search_settings s where s.tenant_id = new.tenant_id), (search.default_settings()).languages);
begin
  if cardinality(languages) = 1 then
    new.language := languages[1];
  else
    new.language := words.detect_language(new.envelope ->> 'content', languages);
  end if;
  return new;
end $$;
comment on function search.tg_packet_store__choose_language is 'Gives a memory whose writer names no language one of the '
  'tenant''s languages. Definer: reads the settings of the row''s tenant without the cost of policies.';

create trigger _370_choose_language before insert or update of language on public.packet_store
  for each row when (new.language is null) execute function search.tg_packet_store__choose_language();
