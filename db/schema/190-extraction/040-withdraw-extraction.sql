create function extraction.withdraw_extracted_relations(packet_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relations.packet_id and e.extracted_by is not null);
begin
  if ids <> '{}' then
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relations.packet_id and e.extracted_by is not null;
    perform graph.recompute_relationships(ids);
  end if;
end
$$;

comment on function extraction.withdraw_extracted_relations(uuid) is
  'Takes back the relations that a model found in a memory; what callers state stays. Not executable by callers: functions of the owner call it.';

create function extraction.tg_packet_store__extraction_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  is_other_text constant boolean := new.content_hash <> old.content_hash;
begin
  if is_other_text then
    -- What a model found in its old words is not said any more, whether or not it is read again.
    perform facts.withdraw_evidence(new.packet_id, only_extracted => true);
    perform extraction.withdraw_extracted_relations(new.packet_id);
  end if;
  insert into extraction.pending_extractions as q (packet_id)
  select new.packet_id from public.extraction_settings s
  where s.tenant_id = new.tenant_id and extraction.is_wanted(s, new.packet_type, new.scope, new.ttl)
    and (is_other_text or not extraction.is_wanted(s, old.packet_type, old.scope, null))
  on conflict (packet_id) do update
    set attempts = 0, next_attempt_at = now(), leased_until = null, given_up_at = null, last_error = null;
  return null;
end
$$;

comment on function extraction.tg_packet_store__extraction_follow() is
  'Takes back what a model found in the old text of a memory, and has the new one read, where the tenant wants that. Definer: callers can''t write these tables.';

-- After what moves facts and relations along.
create trigger _640_extraction_follow after update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or (new.scope, new.packet_type) is distinct from (old.scope, old.packet_type))
  execute function extraction.tg_packet_store__extraction_follow();
