-- Limits that more than one function uses. Functions that only one body uses keep their numbers there.
create function search.max_scored_rows() returns integer language sql immutable parallel safe return 2000;
comment on function search.max_scored_rows is 'Up to so many matches are scored one by one: no dearer than an index scan.';

create function search.max_scanned_rows() returns integer language sql immutable parallel safe return 20000;
comment on function search.max_scanned_rows is 'Most rows that a step reads and filters: cheaper than a ranked index.';

create function search.max_query_characters() returns integer language sql immutable parallel safe return 2000;
comment on function search.max_query_characters is 'Beginning of a query whose words are used for snippets.';

create function search.max_languages() returns integer language sql immutable parallel safe return 5;
comment on function search.max_languages is 'Most languages of a tenant. Each of them adds words to every query.';

create function search.candidate_count(k integer) returns integer
language sql immutable parallel safe return least(greatest(5 * k, 100), 300);
comment on function search.candidate_count is 'Number of candidates that each retriever returns for k hits: five times k, from '
  '100 to 300. In tests more than 100 never changed the first ten hits, and 50 lowered nDCG@10 by .002 and recall@10 by .004.';
grant execute on function search.max_scored_rows, search.max_scanned_rows, search.max_query_characters, search.max_languages,
  search.candidate_count to l9_agent, l9_admin, l9_platform_admin;
