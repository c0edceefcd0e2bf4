-- The types of a search: what callers get (memory_hit, search_result), the request that its steps hand on
-- (search_request), and what retrievers answer. recall_lessons() and memory_find use them too.
create type public.memory_hit as (packet_id uuid, access_id uuid, content text, is_truncated boolean, snippet text, score real,
  lexical_score real, semantic_score real, chunk_index integer, kind text, scope text, project_id text, tags text[],
  thread_id text, creator text, importance real, estimated_importance real, "timestamp" timestamptz, explanation jsonb,
  speaker text, created_at timestamptz, relevance real, branch text, standing public.standing, updated_at timestamptz);
call identity.describe('public.memory_hit', 'A memory that a search found, and the reasons for its score.
  packet_id: The memory.
  kind: Kind of the memory.
  scope: Scope of the memory, which decides which callers can read it.
  project_id: Project of the memory; null in scope global.
  branch: Branch of the memory; null means every branch.
  tags: Labels of the memory.
  thread_id: Conversation or task that the memory belongs to.
  creator: Agent that saved the memory.
  timestamp: Time when it happened.
  speaker: Who said it; null if nobody is named.
  created_at: Time when the memory was saved.
  updated_at: Time when the memory was last changed, the expected_version of a later write; with as_of, since when that state
    held.
  access_id: Identifies this hit of this search. Pass it to record_feedback.
  content: Text of the memory, truncated after 8000 characters, or a preview if max_tokens leaves no room for more. get_memory
    returns the whole text.
  is_truncated: True if content was truncated.
  snippet: The part that matched best, with words of the query between ** and **.
  score: From 0 to 1, after the boosts: the weighted sum of lexical_score and semantic_score, in mode lexical or semantic that
    score alone, lifted by its conversation (the speaker, the thread, its neighbours); in mode graph the confidence of the path;
    1 if nothing was ranked.
  lexical_score: BM25 score relative to that of the best hit, from 0 to 1; null if the memory was not found by words.
  semantic_score: Cosine similarity to the query, from 0 to 1; null if the memory was not compared.
  relevance: How likely the memory has to do with the query, from 0 to 1, whatever else was found: what the cosine similarity
    tells by the embedding model''s map (in embedding_models) or, if that is more, what the share of the words of the query that
    the memory has tells. Without vectors that share. Null if nothing was ranked, and in mode graph.
  importance: Importance of the memory, from 0 to 1, as learned from its use; with as_of, that of a state in the past is its
    estimate.
  estimated_importance: Importance by the writer''s own estimate, from 0 to 1.
  standing: Whose word the memory is, and what has superseded it. A hit that is superseded comes after those of the hits that
    superseded it.
  chunk_index: Chunk that is nearest to the query in meaning. 0: the memory as a whole; null: the memory was not compared.
  explanation: With explain: found_by (the retrievers), lexical and semantic (scores of content and context, each from 0 to
    1; the semantic score of content is that of the reasoning steps if they are nearer), graph (the entity that the query
    names, and the path from it), chunk, weights, fused (their weighted sum), conversation (whether the speaker is named, the
    best score in the thread, the score of a neighbour among the first hits, and lifted: the score after these), boosts
    (recency, importance, factor) and, of a hit that comes after what superseded it, superseded (by, and the score that it
    had before). Otherwise null.');

create type public.search_result as (hits public.memory_hit[], searched jsonb, nearest public.nearest_memory[]);
call identity.describe('public.search_result', 'Hits, best first, and what was searched, so that an empty result is not mistaken
    for a missing permission.
  hits: The hits, best first. None if nothing matched well.
  nearest: Then up to three memories that are nearest to the query, best first; otherwise empty.
  searched: mode (the one that ran), requested_mode, scopes, projects, filters, like (packet_id), as_of, k, threshold,
    min_relevance, left_out (how many of the k best were left out because of it), vectors (used, unavailable or not asked for),
    candidates (their number), cut (what max_tokens removed), entities (those that the query names, in mode graph) and notice.');

create type search.search_request as (started_at timestamptz, caller identity.identity, searched_scopes text[],
  requested_scopes text[], project_id text, branch text, filters jsonb, query text, languages text[], like_packet_id uuid,
  k integer, requested_mode text, mode text, vector extensions.vector, model text, dimensions integer, threshold real,
  min_relevance real, cuts_each boolean, word_weights double precision[], lexemes text[], relevance_midpoint real,
  relevance_slope real, relevance_word_slope real,
  as_of timestamptz, max_tokens integer, candidates integer, is_explained boolean, settings public.search_settings,
  buckets integer[], current_condition text, current_or_past_condition text, past_condition text, own_row_condition text,
  range_condition text, joins_packets boolean, hides_archived boolean, word_filter ranking.word_filter, ids uuid[],
  context_ids uuid[], reasoning_ids uuid[], entities text[], paths jsonb, leaves_texts_out boolean,
  notices text[], weighed ranking.word_weights);
call identity.describe('search.search_request', 'A checked search: the arguments of its steps, and the results that they pass on.
  searched_scopes: Scopes that the caller may read and that the search covers.
  requested_scopes: The scopes argument; null: all that the caller may read.
  branch: The branch whose memories are searched, beside those of every branch; null: all.
  query: The query, or the most frequent words of the memory like_packet_id.
  languages: The languages in which the words of the query are matched.
  mode: The mode that runs: hybrid becomes lexical without a vector, and recent without a query.
  min_relevance: Nothing matched well if no hit is as relevant as that.
  cuts_each: True if the caller asked for min_relevance, so that each hit that is less relevant is left out.
  lexemes: The words of the query, or the most frequent ones of the memory like_packet_id; null if words were not searched.
  word_weights: How much each of these words tells among the memories that the caller may read.
  weighed: These weights, the average length and the number of those memories, where they are known before words are looked for.
  relevance_midpoint: From the map of the model, as in embedding_models.
  relevance_slope: From the map of the model, as in embedding_models.
  relevance_word_slope: From the map of the model, as in embedding_models.
  candidates: Number of candidates that each retriever returns.
  buckets: Buckets of the tenants that are searched: one, or all for an operator.
  current_condition: Conditions on packet_store p, for the memory as it is now.
  current_or_past_condition: Conditions on packet_store p. With as_of they also hold for a memory that changed later, if its
    content is the same.
  past_condition: With as_of: conditions on packet_versions v and packet_store p.
  own_row_condition: Conditions on a table m that has its memory''s scope, project, branch and expiry.
  range_condition: Conditions on p that are ranges of an index.
  joins_packets: True if the filters need columns of packet_store, so that a join is required.
  hides_archived: True if memories that are archived by now are left out.
  word_filter: Conditions on memories that are found through the index of words. What it does not state, current_condition does.
  ids: All memories that match, if they are few: then they are scored one by one. Null if they are many.
  context_ids: The same for memories that have a context.
  reasoning_ids: Ids of readable reasoning traces, matching or not, if there are few; null if many, empty to skip this retriever.
  leaves_texts_out: True if hits need no content and no snippet, because they are only candidates.
  entities: In mode graph: the entities that the query names.
  paths: In mode graph, with explain: maps each memory to its entity and the path from it.
  notices: Sentences for the caller, which become searched.notice.');

create type search.search_source as (table_name text, visibility_ranges text[], extra_condition text);
comment on type search.search_source is 'The rows that a retriever reads, as SQL fragments, in a type of their own.';

create type search.ranked_memories as (ids uuid[], scores real[], chunks integer[]);
comment on type search.ranked_memories is 'The answer of a retriever: memories with their scores, best first.';

create type search.ranked_hits as (
  hits public.memory_hit[], considered integer, left_out integer, lexemes text[], word_weights double precision[],
  nearest public.memory_hit[]);
comment on type search.ranked_hits is 'Hits, best first, the number of candidates that they were chosen from, how many of the '
  'best were left out because they are not relevant, and the words that were searched with their weights. nearest: the best of '
  'those that were left out, where there are no hits.';
