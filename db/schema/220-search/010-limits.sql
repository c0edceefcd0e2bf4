-- Limits that more than one function uses. Functions that only one body uses keep their numbers there.
create function search.max_scored_rows() returns integer language sql immutable parallel safe return 2000;
comment on function search.max_scored_rows is 'Up to so many matches of a filter are scored one by one.';

create function search.max_unfiltered_rows() returns integer language sql immutable parallel safe return 500;
comment on function search.max_unfiltered_rows is 'The same without filters, where a scan of an index soon finds enough.';

create function search.max_scanned_rows() returns integer language sql immutable parallel safe return 20000;
comment on function search.max_scanned_rows is 'Most rows that a step reads and filters: cheaper than a ranked index.';

create function search.max_query_characters() returns integer language sql immutable parallel safe return 2000;
comment on function search.max_query_characters is 'Beginning of a query whose words are used for snippets.';

create function search.max_languages() returns integer language sql immutable parallel safe return 5;
comment on function search.max_languages is 'Most languages of a tenant. Each of them adds words to every query.';

create function search.candidate_count(k integer) returns integer
language sql immutable parallel safe return least(greatest(4 * k, 40), 300);
comment on function search.candidate_count is 'Number of candidates that each retriever returns for k hits: four times k, from '
  '40 to 300. With 60 for ten hits recall@10 is .001 higher on Cranfield and .006 on QMSum, for a tenth more time.';
grant execute on function search.max_scored_rows, search.max_unfiltered_rows, search.max_scanned_rows,
  search.max_query_characters, search.max_languages, search.candidate_count to l9_agent, l9_admin, l9_platform_admin;
