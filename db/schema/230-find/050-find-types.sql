-- The types of memory_find: what callers get (found_memory, find_suggestion, find_result), and what its steps hand on.
create type public.found_memory as (packet_id uuid, access_id uuid, kind text, title text, snippet text, score real,
  confidence real, fields jsonb, is_cut boolean, scope text, project_id text, branch text, updated_at timestamptz,
  route_used text, explanation jsonb, standing public.standing);
call identity.describe('public.found_memory', 'A memory that memory_find found.
  packet_id: The memory.
  access_id: Identifies this hit of this call. Pass it to record_feedback.
  kind: Kind of the memory.
  title: Title of the memory; null if its kind has none.
  snippet: The part that matched best, with words of the query between ** and **.
  score: From 0 to 1: the weighted sum of find.score(), by which hits are ordered. It compares the hits of one call with each
    other.
  confidence: How likely the memory is relevant to the query, from 0 to 1; null without a query.
  fields: The structured fields of the memory, as in its envelope, without its text.
  is_cut: True if fields are shortened or left out, because they are long or max_tokens leaves no room. get_memory returns them.
  scope: Scope of the memory, which decides which callers can read it.
  project_id: Project of the memory; null in scope global.
  branch: Branch of the memory; null means every branch.
  updated_at: Time when the memory was last changed.
  route_used: How it was found: fast, hybrid, graph, deep, or newest if there was no query.
  standing: Whose word the memory is, and what has superseded it. A hit that is superseded comes after those of the hits that
    superseded it.
  explanation: With explain: matches, recency, proximity and citations (each with its value from 0 to 1, its weight, and what it
    was made from), confidence (what it was computed from), search (as in search_memory) and, of a hit that comes after what
    superseded it, superseded (by, and the score that it had before). Otherwise null.');

create type public.find_suggestion as (reason text, value text, hits integer);
call identity.describe('public.find_suggestion', 'What to try instead of a call of memory_find that found little.
  reason: spelling: value is a corrected query. kind, branch: value is another kind or branch. archived: there are archived
    memories, which include_archived finds; value is empty.
  value: The query, kind or branch to try.
  hits: How many memories this finds by words, at most 100, among those that the caller may read.');

create type public.find_result as (hits public.found_memory[], suggestions public.find_suggestion[], searched jsonb,
  nearest public.nearest_memory[]);
call identity.describe('public.find_result', 'Hits, best first, and what was searched, so that an empty result is not mistaken for
    a missing permission.
  hits: The hits, best first. None if nothing matched well.
  nearest: Then up to three memories that are nearest to the query, best first; otherwise empty.
  suggestions: What to try instead, if fewer than three memories were found.
  searched: mode (the one asked for), route_used (fast, hybrid, graph, deep, newest, or two of them, one after the other), scopes,
    projects, filters, k, candidates (their number), left_out (how many of the k best were left out because nothing reached the
    min_relevance of the search settings), vectors (used, unavailable or not asked for), entities (those that the query names, if
    relations were followed), cut (what max_tokens removed) and notice. With retry_for possibly only retry: vector or model.');

create type find.find_filter as (kinds text[], project_id text, branch text, scopes text[], since timestamptz, until timestamptz,
  "where" jsonb, hides_archived boolean);
comment on type find.find_filter is 'What memory_find narrows its search to; null: no condition.';

create type find.candidates as (ids uuid[], scores real[], relevances real[], are_relevant boolean[], chunks integer[],
  paths search.ranked_memories, explanations jsonb[], considered integer, left_out integer, request search.search_request);
call identity.describe('find.candidates', 'The answer of the retrievers: the best memories, their scores, and the request by then.
  relevances: Relevance by the map of the embedding model; null for what was not compared by vectors.
  are_relevant: False for what does not reach min_relevance by itself; null on the route fast.
  paths: The memories that state relations of the entities that the query names, with the confidence of the path.
  considered: How many candidates these were chosen from.');
