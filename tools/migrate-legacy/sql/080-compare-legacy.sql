-- Compares old rows with what they became here. l9-memory migrate-legacy calls it to find what is new, and again to
-- verify the import.

create function legacy_import.compare_legacy(source text, source_table text, source_ids text[], source_hashes text[])
returns table (source_id text, state text)
language sql stable set search_path = '' set enable_seqscan = off set jit = off
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

comment on function legacy_import.compare_legacy is
  'The state of old rows, given their ids and the hashes of their contents: new (not imported), kept (identical '
  'here), edited (changed here since), gone (deleted here since), changed (changed in the old table after the '
  'import), or different, which should not occur.';

create function legacy_import.compare_legacy_actors(source text, source_table text, writers jsonb)
returns table (source_id text)
language sql stable set search_path = '' set enable_seqscan = off set jit = off
as $$
  select w.source_id
  from jsonb_to_recordset(writers) as w (
    source_id text, occurred_at timestamptz, caller text, creator text, source text, tool_name text)
  join legacy.legacy_ids i
    on i.source = compare_legacy_actors.source and i.source_table = compare_legacy_actors.source_table
    and i.source_id = w.source_id
  left join public.audit_log a on i.outcome = 'recorded' and a.audit_id = i.new_id and a.occurred_at = w.occurred_at
  left join public.packet_store p on i.outcome = 'moved' and p.packet_id = i.new_id
  where i.outcome = 'recorded'
      and (a.caller, a.creator, a.source, a.tool_name) is distinct from (w.caller, w.creator, w.source, w.tool_name)
    or p.packet_id is not null
      and (p.metadata ->> 'creator', p.metadata ->> 'source') is distinct from (w.creator, w.source)
$$;

comment on function legacy_import.compare_legacy_actors is
  'The ids of those of the given imported rows whose audit row or memory names other writers than given: caller, '
  'creator, source and tool_name of an audit row (found by occurred_at), creator and source of a memory. Merged '
  'rows keep the writer of the memory that they were merged into, and are not compared.';
