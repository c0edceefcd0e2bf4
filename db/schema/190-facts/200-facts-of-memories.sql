-- The field facts of a memory in GraphQL.
create function public.packet_store_facts(memory public.packet_store) returns setof public.knowledge_facts
language sql stable parallel safe set search_path = ''
begin atomic
  select f.* from public.knowledge_facts f
  where f.fact_id in (select e.fact_id from public.fact_evidence e where e.packet_id = (memory).packet_id) order by f.fact_id;
end;
comment on function public.packet_store_facts is 'The facts that this memory states, including facts that ended or were '
  'retracted.';
grant execute on function public.packet_store_facts to l9_agent, l9_admin, l9_platform_admin;
