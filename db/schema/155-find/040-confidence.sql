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
      when relevance is null then -3.0 + 4.0 * coalesce(word_share, 0)
      else -3.0 + 0.6 * pg_catalog.ln(least(greatest(relevance, 0.001), 0.999) / (1 - least(greatest(relevance, 0.001), 0.999))) + 2.0 * coalesce(word_share, 0)
    end)) as base
  ) c);

comment on function find.confidence(real, real, real) is
  'How likely a memory is relevant, from 0 to 1: rises with its relevance by the map of the embedding model (null: not compared by vectors), the share of the query''s words that it has (weighed by rarity), and the confidence of a path from an entity of the query. Low for all three means that nothing fits.';

grant execute on function find.confidence(real, real, real) to l9_agent, l9_admin, l9_platform_admin;
