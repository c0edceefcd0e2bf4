create function views.use_of(access_count bigint)
returns double precision
language sql
immutable
parallel safe
return access_count / (access_count + 10.0);

comment on function views.use_of(bigint) is 'How much something is used, from 0 to 1: 0.5 where it was found or read ten times.';

create function views.combined_score_of_memory(importance_score real, "timestamp" timestamptz, access_count bigint)
returns real
language sql
stable
parallel safe
return 0.6 * importance_score
  + 0.3 * 0.5 ^ (greatest(extract(epoch from now() - "timestamp"), 0) / extract(epoch from interval '10 days'))
  + 0.1 * views.use_of(access_count);

comment on function views.combined_score_of_memory(real, timestamptz, bigint) is
  'From 0 to 1: 0.6 × importance + 0.3 × recency (1 now, halved every ten days) + 0.1 × use (n / (n + 10) for n accesses).';

create function views.combined_score_of_fact(confidence double precision, agent_count integer) returns real
language sql immutable parallel safe
return 0.75 * confidence + 0.25 * (1 - 1.0 / agent_count);

comment on function views.combined_score_of_fact is
  'From 0 to 1: 0.75 × confidence + 0.25 × support (1 - 1 / n for n agents). How often the fact was stated or read changes nothing.';
