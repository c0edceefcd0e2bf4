-- Creates the views of all built-in kinds, and the index that finds their memories.
do $$
declare
  built_in record;
  kinds_with_views text[];
begin
  for built_in in select k.kind from public.memory_kinds k where k.tenant_id is null order by k.kind_id loop
    call kinds.create_view(built_in.kind);
    kinds_with_views := kinds_with_views || built_in.kind;
  end loop;
  -- Partial, so that notes and messages, which are most memories, cost nothing more to save.
  execute format($sql$create index packet_store_kinds_idx on public.packet_store (tenant_id, packet_type, packet_id)
    where packet_type = any (%L::text[])$sql$, kinds_with_views);
end $$;
comment on index public.packet_store_kinds_idx is 'Finds the memories of a built-in kind, for its view.';
