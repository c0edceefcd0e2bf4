create function legacy.compare_legacy(source text, source_table text, source_ids text[], source_hashes text[])
returns table (source_id text, state text)
language sql
stable
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
  with recorded as materialized (
    select i.source_id, i.new_id, i.outcome, i.source_hash, i.content_hash, i.moved_at
    from legacy.legacy_ids i
    where i.source = compare_legacy.source and i.source_table = compare_legacy.source_table
      and i.source_id = any (source_ids)
  ), present as materialized (
    select p.packet_id, p.content_hash, packets.content_hash(p.envelope ->> 'content') as hash_now, p.updated_at
    from public.packet_store p
    where p.packet_id = any (array(select k.new_id from recorded k))
  )
  select o.source_id,
    case
      when k.source_id is null then 'new'
      when k.outcome = 'recorded' and encode(k.source_hash, 'hex') is distinct from o.hash then 'changed'
      when k.outcome = 'recorded' then 'kept'
      when h.packet_id is null then 'gone'
      when encode(k.source_hash, 'hex') is distinct from o.hash then 'changed'
      when h.hash_now = k.content_hash and h.content_hash = k.content_hash then 'kept'
      when h.updated_at > k.moved_at then 'edited'
      else 'different'
    end
  from unnest(source_ids, source_hashes) with ordinality as o (source_id, hash, place)
  left join recorded k on k.source_id = o.source_id
  left join present h on h.packet_id = k.new_id
  order by o.place
$$;

comment on function legacy.compare_legacy(text, text, text[], text[]) is
  'The state of old rows, given their ids and the hashes of their contents: new (not imported), kept (identical here), edited (changed here since), gone (deleted here since), changed (changed in the old table after the import), or different, which should not occur.';
