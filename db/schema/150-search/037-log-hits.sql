create function search.log_hits(hits public.memory_hit[], audit_id uuid)
returns public.memory_hit[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  access_ids uuid[];
  hit public.memory_hit;
begin
  if cardinality(hits) = 0 then
    return hits;
  end if;
  access_ids := (
    select importance.log_accesses('search', array_agg(h.packet_id), array_agg(h.scope), array_agg(h.project_id), array_agg(h.score),
      log_hits.audit_id)
    from unnest(hits) as h);
  for i in 1 .. cardinality(hits) loop
    hit := hits[i];
    hit.access_id := access_ids[i];
    hits[i] := hit;
  end loop;
  return hits;
end
$$;

comment on function search.log_hits(public.memory_hit[], uuid) is
  'Writes the hits of a search to the access log, and returns them, each with its access_id.';

grant execute on function search.log_hits(public.memory_hit[], uuid) to l9_agent, l9_admin, l9_platform_admin;
