-- The formulas of importance. importance_of(), which searches and views call for a memory, and the roll-up of voices use them.

-- These functions set no search_path, so that they can be inlined where they are called for many rows (a call costs 0.1
-- ms otherwise). Their SQL-standard bodies were parsed at creation, so a search_path could not change them. Each
-- argument occurs once unless callers pass plain columns: an expression that occurs twice would prevent inlining.

create function importance.kind_weight(kind text) returns double precision language sql immutable parallel safe
return case
  when kind in ('decision', 'runbook', 'ddl') then 0.3
  when kind in ('todo', 'pr_context', 'change') then -0.3
  else 0
end::double precision;
comment on function importance.kind_weight is 'What a kind adds to importance, in log-odds: decisions outlast todos.';

create function importance.importance(
  estimate double precision, kind text, useful double precision, useless double precision, age_days double precision)
returns double precision
language sql immutable parallel safe
return 1 / (1 + exp(-(
  -- The writer's estimate, as log-odds: without other evidence the score is the estimate (.5 exactly, 0 and 1 nearly).
  ln((estimate + 0.02) / (1 - estimate + 0.02))
  + importance.kind_weight(kind)
  -- 4 (useful - useless) / (useful + useless + 9), written so that useful occurs once. Each agent has one voice of at most
  -- 1, which moves the sum by at most 0.4 and so the score by less than 0.1.
  + 4.0 * (1 - (2 * useless + 9) / (useful + useless + 9))
  -- Age subtracts at most 0.5, half of it in 180 days.
  - 0.5 * (1 - power(2, -least(age_days / 180, 200)))
)));
comment on function importance.importance is 'How much a memory matters, between 0 and 1, both excluded. It rises with the '
  'writer''s estimate (0 to 1) and with the voices of agents that found it useful; it falls with the voices of agents against it '
  'and with age. useful and useless are sums over agents, each at most 1 (see voice). One agent alone moves the score by less '
  'than 0.1. docs/explanation/importance.md lists the weights. Pure.';

create function importance.voice(vote smallint, has_used boolean, has_contradicted boolean) returns integer
language sql immutable parallel safe return greatest(coalesce(vote, has_used::integer) - has_contradicted::integer, -1);
comment on function importance.voice is 'What one agent says about a memory: 1 for it, -1 against it, 0 neither. Its last vote '
  '(1 or -1) counts; without a vote, building on the memory counts for it. Contradicting the memory subtracts 1.';

create function importance.decayed(amount double precision, since timestamptz, until timestamptz) returns double precision
language sql immutable parallel safe
return coalesce(
  amount * power(2::double precision, case
    -- The exponent is capped so that a double does not underflow.
    when until > since then -least(extract(epoch from until - since)::double precision / (30 * 86400), 200)
    when until <= since then 0
  end),
  0);
comment on function importance.decayed is 'What is left of an amount that halves every 30 days; 0 for null.';
grant execute on function importance.kind_weight, importance.importance, importance.voice, importance.decayed to l9_agent,
  l9_admin, l9_platform_admin, l9_worker;
