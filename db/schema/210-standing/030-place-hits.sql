-- Adds the standing to the hits of a page, and puts what is superseded after its successors. Searches call it last.
create type standing.placed_hit as (place integer, standing public.standing, score real, explanation jsonb);
call identity.describe('standing.placed_hit', 'A hit in its new order: its place among the hits as they were ranked, and its
    standing.
  score: Its score, or that of the hit before it if that is less.
  explanation: If the score was lowered: superseded, with what superseded the hit (by) and the score that it had. Otherwise
    empty.');

-- Looks for successors only if a hit names one or states facts, which few memories do. Works on places in the list rather than on
-- scores: a hit gets a place just behind its last successor, and then at most the score of the hit before it.
create function standing.place_hits(packet_ids uuid[], scores real[] default null, as_of timestamptz default null)
returns setof standing.placed_hit
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  own_creator constant text := identity.current_creator();
  own_places bigint[];
  own_standings public.standing[];
  has_successors boolean;
  known standing.succession[] := '{}';
  sort_keys numeric[];
  pairs integer[][];
  pair integer[];
  has_moved boolean;
  hit standing.placed_hit;
begin
  select array_agg(i.place order by i.place), array_agg(standing.own_standing(p, own_creator) order by i.place), as_of is not null
    or bool_or(p.envelope ? 'superseded_by')
    or exists (select from public.fact_evidence e where e.packet_id = any (packet_ids))
  into own_places, own_standings, has_successors
  from unnest(packet_ids) with ordinality as i (packet_id, place) join public.packet_store p on p.packet_id = i.packet_id;
  if has_successors then
    known := array(select s from standing.successors(packet_ids, as_of) s);
  end if;
  -- Most pages have no successors. A query over a few hits takes several times as long to begin as this loop takes.
  if known = '{}' then
    hit.explanation := '{}';
    for n in 1 .. coalesce(cardinality(own_places), 0) loop
      hit.place := own_places[n];
      hit.standing := own_standings[n];
      hit.score := scores[own_places[n]];
      return next hit;
    end loop;
    return;
  end if;
  sort_keys := array(select p.place from generate_series(1, cardinality(packet_ids)) as p (place));
  pairs := (
    select array_agg(array[array_position(packet_ids, k.packet_id), array_position(packet_ids, k.successor_id)])
    from unnest(known) k
    where k.successor_id = any (packet_ids)
      -- Of two memories that superseded each other, in different facts, neither comes after the other for that.
      and not exists (select from unnest(known) o where o.packet_id = k.successor_id and o.successor_id = k.packet_id));
  -- A hit follows the last of its successors. As many rounds as there are hits settle any chain, and end a circle.
  for round in 1 .. case when pairs is null then 0 else cardinality(packet_ids) end loop
    has_moved := false;
    foreach pair slice 1 in array pairs loop
      if sort_keys[pair[1]] <= sort_keys[pair[2]] then
        sort_keys[pair[1]] := sort_keys[pair[2]] + 0.000001;
        has_moved := true;
      end if;
    end loop;
    exit when not has_moved;
  end loop;
  return query
  select i.place::integer, row(o.creator, o.source, o.text_creator, s.successor_id,
      case when s.successor_id is not null then s.is_partial end, o.review_state, o.is_own)::public.standing, i.lowest,
    case when i.score > i.lowest
      then jsonb_build_object('superseded', jsonb_build_object('by', s.successor_id, 'score', i.score)) else '{}' end
  from (
    select i.*, min(i.score) over (order by i.sort_key, i.place) as lowest
    from unnest(packet_ids, scores, sort_keys) with ordinality as i (packet_id, score, sort_key, place)
  ) i
  join unnest(own_places, own_standings)
    as o (place, creator, source, text_creator, superseded_by, is_partly_superseded, review_state, is_own) on o.place = i.place
  left join lateral (
    select k.successor_id, k.is_partial from unnest(known) k
    where k.packet_id = i.packet_id and k.is_direct order by k.successor_id desc limit 1
  ) s on true
  order by i.sort_key, i.place;
end $$;
comment on function standing.place_hits is 'The hits of a page with their standing; a memory comes after its successors.';

-- Few memories name a successor or state facts. The others need no list of hits.
create function standing.standing_of(memory public.packet_store) returns public.standing
language sql stable set search_path = ''
return case
  when (memory).envelope ? 'superseded_by'
    or exists (select from public.fact_evidence e where e.packet_id = (memory).packet_id)
  then (select p.standing from standing.place_hits(array[(memory).packet_id]) p)
  else standing.own_standing(memory, identity.current_creator()) end;
comment on function standing.standing_of is 'The standing of one memory.';

create function standing.standing_of_memory(packet_id uuid) returns public.standing
language sql stable set search_path = ''
return (select standing.standing_of(p) from public.packet_store p where p.packet_id = standing_of_memory.packet_id);
comment on function standing.standing_of_memory is 'The standing of the memory with this id; null if the caller can''t read it.';

create function public.packet_store_superseded_by(memory public.packet_store) returns uuid
language sql stable set search_path = '' return (standing.standing_of(memory)).superseded_by;
comment on function public.packet_store_superseded_by is 'The memory that superseded this one: of its kind, or by a fact that it '
  'states. Null if the caller can read none.';
grant execute on function standing.place_hits, standing.standing_of, standing.standing_of_memory,
  public.packet_store_superseded_by to l9_agent, l9_admin, l9_platform_admin;
