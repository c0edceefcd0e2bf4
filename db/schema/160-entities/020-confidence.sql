-- The check of a confidence, and the combination of several into one. Functions for facts, relationships and lessons call them.
create function entities.check_confidence(confidence double precision, field text default 'confidence') returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if confidence is null or not confidence between 0 and 1 then
    perform identity.raise_error('L9VAL', format('%s: must be a number from 0 to 1', field));
  end if;
end $$;
comment on function entities.check_confidence is 'Raises L9VAL for this field unless the confidence is a number from 0 to 1.';
grant execute on function entities.check_confidence to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function entities.noisy_or(
  confidences double precision[], highest double precision default 0.99, digits integer default 9) returns double precision
language sql immutable parallel safe set search_path = ''
return (
  -- Rounded, so that the result does not depend on the order in which the logarithms are added. The bounds keep ln() and
  -- exp() from failing on a confidence of 1; they change nothing within these digits.
  select pg_catalog.round(
    least(highest,
      1 - pg_catalog.exp(greatest(coalesce(sum(pg_catalog.ln(greatest(1 - c.confidence, 1e-99))), 0), -99)))::numeric,
    digits)::double precision
  from pg_catalog.unnest(confidences) as c (confidence));
comment on function entities.noisy_or is 'The confidence 1 - Π(1 - c) of independent statements, at most highest, rounded: to 15 '
  'digits if combined again.';
grant execute on function entities.noisy_or to l9_agent, l9_admin, l9_platform_admin, l9_worker;
