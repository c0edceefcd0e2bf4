-- The scores by which two of the views order memories and facts. Only the definitions of these views call them, once
-- for each row of a refresh.
create function views.combined_score_of_memory(importance_score real, "timestamp" timestamptz) returns real
language sql stable parallel safe
return 0.7 * importance_score
  + 0.3 * 0.5 ^ (greatest(extract(epoch from now() - "timestamp"), 0) / extract(epoch from interval '10 days'));
comment on function views.combined_score_of_memory is '0.7 × importance + 0.3 × recency, halved every ten days.';

create function views.combined_score_of_fact(confidence double precision, agent_count integer) returns real
language sql immutable parallel safe return 0.7 * confidence + 0.3 * (1 - 1.0 / agent_count);
comment on function views.combined_score_of_fact is '0.7 × confidence + 0.3 × support (1 - 1 / n for n agents).';
