-- These have no search_path set: so that they are inlined where they are called for many rows (a tenth of a millisecond each
-- otherwise). Their bodies were parsed when they were made, so none could matter. Each argument stands there once, but for
-- plain columns: an expression would not be inlined twice.

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
  'What the kind of a memory adds to its importance, in log-odds: decisions, runbooks and DDL stay of use; todos, changes and the context of a pull request wear out.';

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
  -- The writer's own estimate, as log-odds: where nothing else is known, the score is the estimate (.5 exactly, 0 and 1 nearly).
  ln((estimate + 0.02) / (1 - estimate + 0.02))
  + importance.kind_weight(kind)
  -- What agents said, each of whom weighs less than 1 in sum. The + 1 is doubt: one agent moves it half way at most.
  + 3.0 * (useful - useless) / (useful + useless + 1)
  -- Use, with diminishing returns.
  + 1.0 * (1 - 5 / (uses + 5))
  - 1.5 * (1 - 1 / (contradictions + 1))
  -- Age takes a little: half of it in 180 days.
  - 0.5 * (1 - power(2, -least(age_days / 180, 200)))
)));

comment on function importance.importance(
  double precision, text, double precision, double precision, double precision, double precision, double precision) is
  'How much a memory matters, above 0 and below 1: rises with the writer''s estimate (0 to 1), useful feedback and use; falls with useless feedback, contradictions and age. useful, useless: sums over agents, each below 1 (opinion). uses: decayed to now. The weights are those of docs/explanation/importance.md. Pure.';

create function importance.opinion(votes_for bigint, votes_against bigint)
returns double precision
language sql
immutable
parallel safe
return greatest(votes_for - votes_against, 0)::double precision / (votes_for + votes_against + 1);

comment on function importance.opinion(bigint, bigint) is
  'How far one agent is for something, from 0 to below 1, by its votes: .5 after one, .95 after twenty. However often it votes, it stays one agent.';

create function importance.decayed(amount double precision, since timestamptz, until timestamptz)
returns double precision
language sql
immutable
parallel safe
return coalesce(
  -- Up to a point, beyond which a double would run out of digits.
  amount * power(2::double precision, -least(greatest(extract(epoch from until - since)::double precision / (30 * 86400), 0), 200)),
  0);

comment on function importance.decayed(double precision, timestamptz, timestamptz) is 'What is left of an amount after a time: half in 30 days; nothing of what never was.';

grant execute on function
  importance.kind_weight(text),
  importance.importance(
    double precision, text, double precision, double precision, double precision, double precision, double precision),
  importance.opinion(bigint, bigint), importance.decayed(double precision, timestamptz, timestamptz)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
