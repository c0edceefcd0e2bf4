-- A trigger of packet_store: when the text of a memory changes, what a model extracted from the old text goes, and
-- the new text is queued. store_extraction() withdraws relationships by the same function.
create function extraction.withdraw_extracted_relationships(packet_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relationships.packet_id and e.extracted_by is not null);
begin
  if ids <> '{}' then
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relationships.packet_id and e.extracted_by is not null;
    perform graph.recompute_relationships(ids);
  end if;
end $$;
comment on function extraction.withdraw_extracted_relationships is 'Deletes the relationships that a model extracted from a '
  'memory; relationships that callers stated stay.';

create function extraction.tg_packet_store__extraction_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  has_new_text constant boolean := new.content_hash <> old.content_hash or old.withheld_creator is not null;
begin
  if has_new_text then
    delete from extraction.proposals d where d.source_packet = new.packet_id;
    -- The extraction of the old text no longer holds, even if the new text is not read.
    perform facts.withdraw_evidence(new.packet_id, only_extracted => true);
    perform extraction.withdraw_extracted_relationships(new.packet_id);
  end if;
  insert into extraction.pending_extractions as q (packet_id)
  select new.packet_id from public.extraction_settings s
  where s.tenant_id = new.tenant_id and extraction.is_wanted(s, new.packet_type, new.scope, new.ttl)
    and (has_new_text or not extraction.is_wanted(s, old.packet_type, old.scope, null))
  on conflict (packet_id) do update
    set attempts = 0, next_attempt_at = now(), leased_until = null, given_up_at = null, last_error = null;
  return null;
end $$;
comment on function extraction.tg_packet_store__extraction_follow is 'Deletes what a model extracted from the old text of a '
  'memory and queues the new text if the tenant wants it read. Definer: callers can''t write these tables.';

-- Fires after the triggers that move facts and relationships.
create trigger _640_extraction_follow after update on public.packet_store
  for each row
  when (new.withheld_creator is null and (
    new.content_hash is distinct from old.content_hash or old.withheld_creator is not null
    or (new.scope, new.packet_type) is distinct from (old.scope, old.packet_type)))
  execute function extraction.tg_packet_store__extraction_follow();
