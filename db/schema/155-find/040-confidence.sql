create function find.confidence(relevance real, word_share real, path real default null)
returns real
language sql
immutable
parallel safe
set search_path = ''
return (
  select (1 - (1 - c.base) * (1 - 0.5 * coalesce(path, 0)))::real
  from (
    select 1 / (1 + pg_catalog.exp(-case
      when relevance is null then -2.49 + 3.20 * coalesce(word_share, 0)
      else -4.40 + 0.39 * pg_catalog.ln(least(greatest(relevance, 0.001), 0.999) / (1 - least(greatest(relevance, 0.001), 0.999)))
        + 2.54 * coalesce(word_share, 0)
    end)) as base
  ) c);

comment on function find.confidence(real, real, real) is
  'How likely a memory is relevant, from 0 to 1: rises with its relevance by the map of the embedding model (null: not compared by vectors), the share of the query''s words that it has (weighed by rarity), and the confidence of a path from an entity of the query. The first two by logistic regressions of judged hits of Cranfield and QMSum and of hits of questions about another subject (npm run eval -- confidence); the path adds half of what is missing to 1, which was not measured. Low for all three means that nothing fits.';

grant execute on function find.confidence(real, real, real) to l9_agent, l9_admin, l9_platform_admin;
