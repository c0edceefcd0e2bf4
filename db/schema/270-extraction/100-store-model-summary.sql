-- Takes over a summary that a chat model wrote. The job that writes summaries calls store_model_summary() with the
-- answer and the hashes of the sources that the model read.
create function extraction.store_model_summary(
  summary_key bytea, scope_type text, scope_value text, summary jsonb, packet_ids uuid[], content_hashes bytea[], model text)
returns boolean
language plpgsql volatile set search_path = '' set lock_timeout = '500ms' as $$
declare
  -- Missing lists default to empty ones; only these keys of the answer are used, and long values are cut.
  answer constant jsonb := jsonb_build_object('key_facts', '[]'::jsonb, 'key_entities', '[]'::jsonb, 'key_decisions',
    '[]'::jsonb) || summary;
begin
  delete from extraction.summary_leases c where c.summary_key = store_model_summary.summary_key;
  perform from public.packet_store p where p.packet_id = any (packet_ids) order by p.packet_id for share;
  if exists (
    select from unnest(packet_ids, content_hashes) as source (packet_id, content_hash)
    where not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = source.packet_id and p.content_hash = source.content_hash and s.writes_summaries
        and p.scope = any (s.scopes)
        and (p.ttl is null or p.ttl > now()))
  ) then
    return false; -- A source changed since the lease; if a summary is still due, it will be leased again.
  end if;
  perform summaries.store_summary(
    store_model_summary.scope_type, store_model_summary.scope_value, left(summary ->> 'summary', 20000), packet_ids,
    extraction.summary_texts(answer -> 'key_facts'), extraction.summary_texts(answer -> 'key_entities'),
    extraction.summary_texts(answer -> 'key_decisions'), least(greatest((answer ->> 'confidence')::double precision, 0), 1),
    model => store_model_summary.model);
  return true;
end $$;
comment on function extraction.store_model_summary is 'Stores a summary that a chat model wrote of these memories. Returns false '
  'and stores nothing if one of them was changed, moved or deleted since the lease, or the tenant no longer wants it read. The '
  'readers are computed from the sources, whatever the answer contains.';

create function extraction.summary_texts(list jsonb) returns text[] language sql immutable parallel safe set search_path = ''
return array(
  select pg_catalog.left(pg_catalog.btrim(i.value), 200)
  from jsonb_array_elements_text(case pg_catalog.jsonb_typeof(list) when 'array' then list else '[]' end)
  with ordinality as i (value, place)
  where not identity.is_blank(i.value) and i.place <= 20 order by i.place);
comment on function extraction.summary_texts is 'The first 20 texts of a list that are not blank, each cut to 200 characters.';
grant execute on function extraction.summary_texts, extraction.store_model_summary to l9_worker;
