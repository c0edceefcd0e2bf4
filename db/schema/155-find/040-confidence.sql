create function find.confidence(relevance real, word_share real, path real default null, lead real default 0)
returns real
language sql
immutable
parallel safe
set search_path = ''
return (
  select (1 - (1 - c.base) * (1 - 0.5 * coalesce(path, 0)))::real
  from (
    select 1 / (1 + pg_catalog.exp(-case
      when relevance is null then -1.66 + 2.47 * coalesce(word_share, 0) + 2.55 * m.lead
      else -1.03 + 0.10 * pg_catalog.ln(greatest(relevance, 1e-6) / greatest(1 - relevance, 1e-6))
        + 0.42 * coalesce(word_share, 0) + 5.77 * m.lead
    end)) as base
    -- Beyond these the judged hits say nothing.
    from (select least(greatest(coalesce(confidence.lead, 0), -0.6), 0.4) as lead) m
  ) c);

comment on function find.confidence(real, real, real, real) is
  'How likely a memory is relevant, from 0 to 1: rises with its relevance by the map of the embedding model (null: not compared by vectors), the share of the query''s words that it has (weighed by rarity), the confidence of a path from an entity of the query, and its lead: by how much its match is above that of the next best memory, or below that of the best one (negative). By logistic regressions of judged hits of Cranfield and QMSum and of hits of questions about another subject (npm run eval -- confidence); the path adds half of what is missing to 1, which was not measured. Low for all means that nothing fits.';

grant execute on function find.confidence(real, real, real, real) to l9_agent, l9_admin, l9_platform_admin;
