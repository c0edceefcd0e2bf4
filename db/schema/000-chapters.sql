-- The table of contents: a schema for each chapter, in reading order; the chapter's folder has its name. Helpers stand in these
-- schemas, which GraphQL does not show, and callers may execute only what is granted to them one by one. The API is in public.

-- This stands before the first function, so that no function is executable unless a later line grants it.
alter default privileges revoke execute on functions from public;

-- Who
create schema identity;
comment on schema identity is 'Who is calling: claims, actors, scopes, and the functions through which every policy learns the '
  'caller.';
create schema audit;
comment on schema audit is 'Writing, sealing, verifying and exporting the audit log.';
create schema partitions;
comment on schema partitions is 'Monthly partitions of audit_log and memory_access_log. No role has a grant on them: rows are '
  'read through the partitioned table.';
create schema administration;
comment on schema administration is 'Creating and changing tenants, orgs, users, scopes, actors and API keys.';

-- Words and secrets
create schema words;
comment on schema words is 'Turns texts into the words that a search compares.';
create schema secrets;
comment on schema secrets is 'Finds secrets in texts and keeps them out of the tables.';

-- Memories
create schema kinds;
comment on schema kinds is 'Rules of the kinds of memories: their fields, what makes two the same, when they are locked and when '
  'they leave.';
create schema packets;
comment on schema packets is 'Helpers of packet_store, the table of memories: checks, stamps, hashes and triggers.';
create schema ranking;
comment on schema ranking is 'Ranking by words: the statistics of what a caller may read, and the scan of the index of words.';
create schema embeddings;
comment on schema embeddings is 'Embedding models, vectors, and the queues of memories that wait for vectors.';
create schema duplicates;
comment on schema duplicates is 'Functions that find near-duplicate memories and decide what a save does about them.';
create schema importance;
comment on schema importance is 'The access log, feedback, and the importance of a memory.';
create schema documents;
comment on schema documents is 'Functions that cut the Markdown of documents into sections and keep them.';
create schema memories;
comment on schema memories is 'Helpers of the functions that save, read, change and delete memories.';

-- Knowledge
create schema derived;
comment on schema derived is 'Shared by all tables whose rows are derived from memories: their triggers, and the lock of the '
  'source memory.';
create schema fields;
comment on schema fields is 'The index of structured fields: which fields of envelopes a tenant has indexed, and their values.';
create schema entities;
comment on schema entities is 'Names of entities and their aliases.';
create schema events;
comment on schema events is 'Event and reasoning-trace rows that are filled from memories.';
create schema tasks;
comment on schema tasks is 'The log of background job runs.';
create schema facts;
comment on schema facts is 'Facts, their evidence, and which fact superseded which.';
create schema graph;
comment on schema graph is 'Relationships between entities, and walks over them.';
create schema standing;
comment on schema standing is 'Whose word a memory in an answer is, and what has superseded it.';

-- Finding
create schema search;
comment on schema search is 'Search: retrievers, fusion of their scores, and the form of the answer.';
create schema find;
comment on schema find is 'memory_find: routes, the ranking, confidence and suggestions.';

-- Learning
create schema world_model;
comment on schema world_model is 'The world model: an event log of insights, folded into entities.';
create schema reflection;
comment on schema reflection is 'Lessons and reflections on tasks.';
create schema summaries;
comment on schema summaries is 'Summaries of memories, and the audiences that may read them.';
create schema extraction;
comment on schema extraction is 'Facts and relationships that a chat model finds, and its token budget.';

-- Keeping
create schema access;
comment on schema access is 'Explaining access: the access matrix and explain_access().';
create schema archive;
comment on schema archive is 'Sessions that are kept for good: what is stored of them, their keys and their bytes.';
create schema views;
comment on schema views is 'Materialized views and their refresh. Callers read the views only through functions.';
create schema cortex;
comment on schema cortex is 'The tables of the older system as read-only views, under the policies of what they show. New '
  'programs read decisions, issues and the other views of kinds, and the tables of schema public.';
create schema forgetting;
comment on schema forgetting is 'Erasure of memories and subjects, and tombstones.';
create schema review;
comment on schema review is 'Rules about which memories wait for a reviewer, and what reviewers decide.';
create schema health;
comment on schema health is 'Figures for administrators about queues, jobs, sizes and the use of indexes.';
create schema transfer;
comment on schema transfer is 'Export and import: the rows of a tenant as JSON lines.';
grant usage on schema public, identity, audit, partitions, administration, words, secrets, kinds, packets, embeddings, duplicates,
  importance, documents, memories, derived, entities, events, tasks, facts, graph, search, world_model, reflection, summaries,
  extraction, access, archive, views, forgetting, review, transfer to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant usage on schema graphile_migrate to l9_worker;
grant usage on schema ranking to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;
grant usage on schema public, identity, packets, words to l9_searcher;
grant usage on schema fields, standing, find, cortex to l9_agent, l9_admin, l9_platform_admin;

-- A gateway without owner rights checks here whether all migrations have run.

grant select on graphile_migrate.migrations to l9_worker;
