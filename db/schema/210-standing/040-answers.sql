-- What answers of single memories, of near-duplicates and of facts say of a standing. Operations of the gateway call these.
create function standing.memory_json(memory public.packet_store) returns jsonb language sql stable set search_path = ''
return (
  select memories.memory_json(memory) || jsonb_strip_nulls(jsonb_build_object(
    'text_creator', (s.standing).text_creator, 'superseded_by', (s.standing).superseded_by,
    'is_partly_superseded', (s.standing).is_partly_superseded))
  -- Without the offset it would be found out once for each part of it.
  from (select standing.standing_of(memory) as standing offset 0) s);
comment on function standing.memory_json is 'A memory as memories.memory_json() returns it, with its standing.';

create function standing.similar_json("similar" public.similar_memory[]) returns jsonb language sql stable set search_path = ''
return (
  select case when "similar" is not null then coalesce(
    jsonb_agg(
      to_jsonb(s) || jsonb_strip_nulls(to_jsonb(standing.standing_of_memory(s.packet_id)))
      order by s.similarity desc, s.packet_id), '[]') end
  from unnest("similar") s);
comment on function standing.similar_json is 'Near-duplicates, each with its standing.';

create function public.knowledge_facts_superseding_packet(fact public.knowledge_facts) returns uuid
language sql stable set search_path = '' return standing.packet_stating((fact).superseded_by, null);
comment on function public.knowledge_facts_superseding_packet is 'The memory that states the fact which superseded this one; '
  'null if nothing did.';
grant execute on function standing.memory_json, standing.similar_json, public.knowledge_facts_superseding_packet to l9_agent,
  l9_admin, l9_platform_admin;
