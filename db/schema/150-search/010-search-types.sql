create type public.memory_hit as (
  packet_id uuid,
  access_id uuid,
  content text,
  is_truncated boolean,
  snippet text,
  score real,
  lexical_score real,
  semantic_score real,
  chunk_index integer,
  kind text,
  scope text,
  project_id text,
  tags text[],
  thread_id text,
  creator text,
  importance real,
  "timestamp" timestamptz,
  explanation jsonb
);

comment on type public.memory_hit is 'A memory that a search found, and why.';
comment on column public.memory_hit.packet_id is 'The memory.';
comment on column public.memory_hit.kind is 'Its kind.';
comment on column public.memory_hit.scope is 'What decides who sees it.';
comment on column public.memory_hit.project_id is 'Its project; null in scope global.';
comment on column public.memory_hit.tags is 'Its labels.';
comment on column public.memory_hit.thread_id is 'The conversation or task it belongs to.';
comment on column public.memory_hit.creator is 'Who wrote it.';
comment on column public.memory_hit."timestamp" is 'When it was saved.';
comment on column public.memory_hit.access_id is 'What record_feedback takes: this hit of this search.';
comment on column public.memory_hit.content is 'The memory''s text, cut after 8000 characters, or a preview where max_tokens left no more room; get_memory gives the whole.';
comment on column public.memory_hit.is_truncated is 'Whether content was cut.';
comment on column public.memory_hit.snippet is 'The part that matched best, words of the query between ** and **.';
comment on column public.memory_hit.score is
  'From 0 to 1: the weighted sum of lexical_score and semantic_score, or in a single mode just that one (in mode graph the confidence of the path), after the boosts; 1 where nothing was ranked.';
comment on column public.memory_hit.lexical_score is 'BM25 as a part of the best hit''s, from 0 to 1; null when not found by words.';
comment on column public.memory_hit.semantic_score is 'Cosine similarity to the query, from 0 to 1; null when not compared.';
comment on column public.memory_hit.importance is 'How much it matters, from 0 to 1, as learned from its use.';
comment on column public.memory_hit.chunk_index is 'The chunk that was nearest in meaning; 0: the memory as a whole; null: not compared.';
comment on column public.memory_hit.explanation is
  'With explain: found_by (legs), lexical and semantic (content, or what the steps of its reasoning say where that is nearer, and context, each from 0 to 1), graph (the entity that the query names, and the path from it), chunk, weights, fused (the score before the boosts) and boosts (recency, importance, factor).';

create type public.search_result as (hits public.memory_hit[], searched jsonb);

comment on type public.search_result is 'Hits, best first, and what was searched: so that an empty result can''t be taken for a missing permission.';
comment on column public.search_result.hits is 'The hits, best first.';
comment on column public.search_result.searched is
  'mode (as run), requested_mode, scopes, projects, filters, k, threshold, vectors (used, unavailable or not asked for), candidates, cut (what max_tokens took away), entities (those that the query names, in mode graph), notice.';

create type search.search_request as (
  query text,
  k integer,
  mode text,
  vector extensions.vector,
  model text,
  dimensions integer,
  threshold real,
  as_of timestamptz,
  candidates integer,
  is_explained boolean,
  settings public.search_settings,
  buckets integer[],
  on_packets text,
  on_states text,
  on_versions text,
  on_own text,
  ranges text,
  joins_packets boolean,
  ids uuid[],
  context_ids uuid[],
  reasoning_ids uuid[],
  walks_words boolean,
  walks_context_words boolean,
  walks_vectors boolean,
  walks_context_vectors boolean,
  paths jsonb
);

comment on type search.search_request is 'A search, checked: what its legs need.';
comment on column search.search_request.buckets is 'The buckets of the tenants that are searched: one, but for operators.';
comment on column search.search_request.on_packets is 'Conditions on packet_store p, for the memory as it is now.';
comment on column search.search_request.on_states is 'The same, and with as_of also for one whose content is still what it was.';
comment on column search.search_request.on_versions is 'Conditions on packet_versions v and packet_store p, with as_of.';
comment on column search.search_request.on_own is 'Conditions on a table m with the memory''s own scope, project and expiry.';
comment on column search.search_request.ranges is 'Conditions on p that are ranges of an index.';
comment on column search.search_request.joins_packets is 'Whether the conditions are more than those on m.';
comment on column search.search_request.ids is 'All memories that match, where they are few: then they are scored one by one. Null: they are many.';
comment on column search.search_request.context_ids is 'As ids, of those memories that have a context.';
comment on column search.search_request.reasoning_ids is 'Traces of reasoning that the caller may read, whether they match or not, where they are few. None: there is nothing to look for.';
comment on column search.search_request.walks_words is 'Whether for words a walk through their index is the shorter way all the same.';
comment on column search.search_request.walks_context_words is 'As walks_words, for the index of contexts.';
comment on column search.search_request.walks_vectors is 'As walks_words, for the index of the model.';
comment on column search.search_request.walks_context_vectors is 'As walks_words, for the model''s index of contexts.';
comment on column search.search_request.paths is 'Memory → entity and path by which it was found in the graph, with explain.';

create type search.search_source as (
  table_name text,
  columns text,
  branches text[],
  content text,
  bm25_index text,
  more text
);

comment on type search.search_source is
  'Where rows come from, as SQL. Of a type of its own, so that no text that a caller gives is ever taken for SQL.';

create type search.found as (ids uuid[], scores real[], chunks integer[]);

comment on type search.found is 'What a leg found, best first.';
