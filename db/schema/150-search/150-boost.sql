-- These functions set no search_path, so that they are inlined: each runs for hundreds of candidates, and setting it takes ten times
-- as long as the formula. It is safe because their bodies were parsed when the functions were created.

create function search.lift_by_context(content real, context real, weight real)
returns real
language sql
immutable
parallel safe
return case
  when context > coalesce(content, 0) then coalesce(content, 0) + weight * (context - coalesce(content, 0))
  else content end;

comment on function search.lift_by_context(real, real, real) is
  'Score of a memory, given its own score and its score together with its predecessor. A better context raises the score by weight times the difference; a worse one changes nothing.';

create function search.recency(age interval, half_life_days double precision)
returns real
language sql
immutable
parallel safe
return power(
  0.5, least(greatest(extract(epoch from age)::double precision, 0) / (86400 * half_life_days), 100))::real;

comment on function search.recency(interval, double precision) is '1 for a memory saved now, 0.5 after one half-life, 0.25 after two, and so on.';

create function search.max_boost(settings public.search_settings)
returns real
language sql
immutable
parallel safe
return 1 + settings.recency_boost + settings.importance_boost;

comment on function search.max_boost(public.search_settings) is 'The boost of a memory for which every signal is 1, before it is scaled to 1.';

create function search.boost(recency real, importance real, settings public.search_settings)
returns real
language sql
immutable
parallel safe
return (1 + settings.recency_boost * recency + settings.importance_boost * importance) / search.max_boost(settings);

comment on function search.boost(real, real, public.search_settings) is
  'Boost factor of a score, at most 1. It is bounded: a hit with a lower score overtakes a higher one only if its score is more than 1 / (1 + recency_boost + importance_boost) of it, which is 84 % by default and never less than 83 %.';

grant execute on function
  search.lift_by_context(real, real, real), search.recency(interval, double precision),
  search.max_boost(public.search_settings), search.boost(real, real, public.search_settings)
to l9_agent, l9_admin, l9_platform_admin;
