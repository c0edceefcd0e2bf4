-- No search_path is set on these, so that they are inlined: each is asked of hundreds of candidates, and setting it takes ten times
-- as long as what they work out. Their bodies were parsed when they were made, so none could matter.

create function search.with_context(content real, context real, weight real)
returns real
language sql
immutable
parallel safe
return case
  when context > coalesce(content, 0) then coalesce(content, 0) + weight * (context - coalesce(content, 0))
  else content end;

comment on function search.with_context(real, real, real) is
  'What a memory scores, given what it scores by itself and together with its predecessor: context lifts it towards the better match, and never takes anything away.';

create function search.recency(age interval, half_life_days double precision)
returns real
language sql
immutable
parallel safe
return power(
  0.5, least(greatest(extract(epoch from age)::double precision, 0) / (86400 * half_life_days), 100))::real;

comment on function search.recency(interval, double precision) is '1 for now, a half after a half-life, a quarter after two …';

create function search.boost(recency real, importance real, settings public.search_settings)
returns real
language sql
immutable
parallel safe
return (1 + settings.recency_boost * recency + settings.importance_boost * importance)
  / (1 + settings.recency_boost + settings.importance_boost);

comment on function search.boost(real, real, public.search_settings) is
  'What a score is multiplied with. Of two memories the one that scored less can come before the other only where it scored more than 1 / (1 + recency_boost + importance_boost) of it: 84 % by default, 83 % at the least.';

grant execute on function
  search.with_context(real, real, real), search.recency(interval, double precision),
  search.boost(real, real, public.search_settings)
to l9_agent, l9_admin, l9_platform_admin;
