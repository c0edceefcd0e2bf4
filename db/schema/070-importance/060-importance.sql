-- These functions set no search_path, so that they can be inlined where they are called for many rows (a call costs 0.1
-- ms otherwise). Their SQL-standard bodies were parsed at creation, so a search_path could not change them. Each
-- argument occurs once unless callers pass plain columns: an expression that occurs twice would prevent inlining.

create function importance.kind_weight(kind text)
returns double precision
language sql
immutable
parallel safe
return case
  when kind in ('decision', 'runbook', 'ddl') then 0.3
  when kind in ('todo', 'pr_context', 'change') then -0.3
  else 0
end::double precision;

comment on function importance.kind_weight(text) is
  'What the kind of a memory adds to its importance, in log-odds: decisions, runbooks and DDL stay useful; todos, changes and the context of a pull request go out of date.';

create function importance.importance(
  estimate double precision,
  kind text,
  useful double precision,
  useless double precision,
  uses double precision,
  contradictions double precision,
  age_days double precision
)
returns double precision
language sql
immutable
parallel safe
return 1 / (1 + exp(-(
  -- The writer's estimate, as log-odds: without other evidence the score is the estimate (.5 exactly, 0 and 1 nearly).
  ln((estimate + 0.02) / (1 - estimate + 0.02))
  + importance.kind_weight(kind)
  -- Feedback: each agent weighs less than 1 in sum. The + 1 expresses doubt, so that one agent moves the term half way
  -- at most.
  + 3.0 * (useful - useless) / (useful + useless + 1)
  -- Use has diminishing returns.
  + 1.0 * (1 - 5 / (uses + 5))
  - 1.5 * (1 - 1 / (contradictions + 1))
  -- Age subtracts at most 0.5, half of it in 180 days.
  - 0.5 * (1 - power(2, -least(age_days / 180, 200)))
)));

comment on function importance.importance(
  double precision, text, double precision, double precision, double precision, double precision, double precision) is
  'How much a memory matters, between 0 and 1, both excluded. It rises with the writer''s estimate (0 to 1), useful feedback and use; it falls with useless feedback, contradictions and age. useful and useless are sums over agents, each below 1 (see opinion); uses is decayed to the present. docs/explanation/importance.md lists the weights. Pure.';

create function importance.opinion(votes_for bigint, votes_against bigint)
returns double precision
language sql
immutable
parallel safe
return greatest(votes_for - votes_against, 0)::double precision / (votes_for + votes_against + 1);

comment on function importance.opinion(bigint, bigint) is
  'The strength of one agent''s opinion from its votes, from 0 to below 1: 0.5 after one vote, 0.95 after twenty. However often an agent votes, it counts as one agent.';

create function importance.decayed(amount double precision, since timestamptz, until timestamptz)
returns double precision
language sql
immutable
parallel safe
return coalesce(
  -- The exponent is capped so that a double does not underflow.
  amount * power(2::double precision, -least(greatest(extract(epoch from until - since)::double precision / (30 * 86400), 0), 200)),
  0);

comment on function importance.decayed(double precision, timestamptz, timestamptz) is
  'The amount left after a time: it halves every 30 days. The result is 0 if the amount or a time is null.';

grant execute on function
  importance.kind_weight(text),
  importance.importance(
    double precision, text, double precision, double precision, double precision, double precision, double precision),
  importance.opinion(bigint, bigint), importance.decayed(double precision, timestamptz, timestamptz)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
