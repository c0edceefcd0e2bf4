-- What health() returns. Administrators read it in psql and over GraphQL; the console shows it.

create type public.table_health as (table_name text, live_rows bigint, dead_rows bigint, table_bytes bigint, index_bytes bigint,
  sequential_scans bigint, sequential_rows bigint, index_scans bigint, last_vacuum_at timestamptz, last_analyze_at timestamptz);
call identity.describe('public.table_health', 'Size and use of a table, with all of its partitions.
  table_name: Schema and name.
  live_rows: How many rows it has, as PostgreSQL estimates.
  dead_rows: How many rows were deleted or replaced and take space until the next vacuum, as PostgreSQL estimates.
  table_bytes: Size without its indexes.
  index_bytes: Size of its indexes.
  sequential_scans: How often all of it was read, since the statistics were reset.
  sequential_rows: How many rows were read by reading all of it.
  index_scans: How often an index was used to read it, since the statistics were reset.
  last_vacuum_at: When it, or one of its partitions, was last vacuumed. Null: never.
  last_analyze_at: When its statistics for the planner were last computed. Null: never.');

create type public.index_health as (index_name text, table_name text, bytes bigint, scans bigint, last_scan_at timestamptz,
  is_unique boolean, is_valid boolean);
call identity.describe('public.index_health', 'Size and use of an index, with those of all partitions.
  index_name: Schema and name.
  table_name: Table that the index belongs to.
  bytes: Size of the index.
  scans: How often it was used, since the statistics were reset. A unique index also serves by what it refuses.
  last_scan_at: When it was last used. Null: never.
  is_unique: Whether it refuses duplicates.
  is_valid: False: its creation failed, so no query uses it.');

create type public.job_health as (type text, runs integer, failed integer, running_since timestamptz, last_started_at timestamptz,
  last_completed_at timestamptz, last_seconds double precision, last_failed_at timestamptz, last_error text);
call identity.describe('public.job_health', 'How the runs of a job ended, over the last seven days: the newest 10,000 rows of
    tasks are counted.
  type: The kind of work, such as embed_pending.
  runs: How many runs there were.
  failed: How many runs failed.
  running_since: When the oldest run that has not ended was started. Null: none is running.
  last_started_at: When the newest run was started.
  last_completed_at: When a run last completed.
  last_seconds: How long the run took that completed last.
  last_failed_at: When a run last failed.
  last_error: The error of the run that failed last: its name.');

create type public.health as (checked_at timestamptz, is_whole_server boolean, serving_model text, arriving_model text,
  arriving_memories integer, arriving_remaining integer, embedding_waiting integer, embedding_failing integer,
  embedding_error text, embedding_oldest_seconds double precision, extraction_waiting integer, extraction_given_up integer,
  extraction_oldest_seconds double precision, last_sealed_at timestamptz, views_refreshed_at timestamptz,
  unsealed_rows integer, unsealed_oldest_seconds double precision, accesses_waiting integer,
  accesses_oldest_seconds double precision, database_bytes bigint, cache_hit_rate double precision,
  tables public.table_health[], indexes public.index_health[], jobs public.job_health[]);
call identity.describe('public.health', 'How the database is: numbers and names, never contents.
  checked_at: The time of these figures.
  is_whole_server: True: the figures count every tenant. False: another tenant uses this server too, so the figures count the
    caller''s tenant, and those that can''t be told apart by tenant are null or empty.
  serving_model: The embedding model whose vectors searches compare. Null: none yet.
  arriving_model: The embedding model that a change is under way to. Null: no change.
  arriving_memories: How many memories that change has to embed.
  arriving_remaining: How many memories that change has not embedded yet.
  embedding_waiting: How many memories wait for their vectors, counted up to 100,000; searches find them by words until then.
  embedding_failing: How many memories that wait for their vectors failed before and are tried again.
  embedding_error: The most frequent error of memories that wait for their vectors: its name.
  embedding_oldest_seconds: How long the first memory has been waiting for its vectors.
  extraction_waiting: How many memories wait to be read by the chat model, counted up to 100,000.
  extraction_given_up: How many memories the chat model could not read, after five attempts.
  extraction_oldest_seconds: How long the first memory has been waiting for the chat model.
  last_sealed_at: When the audit log was last sealed. Null: never.
  views_refreshed_at: When the oldest of the materialized views was refreshed. Null: one never was.
  unsealed_rows: How many rows of the audit log are not sealed yet, counted up to 100,000.
  unsealed_oldest_seconds: The age of the first row of the audit log that is not sealed.
  accesses_waiting: How many accesses and votes do not count towards importance yet, counted up to 100,000 of each.
  accesses_oldest_seconds: The age of the first access or vote that does not count yet.
  database_bytes: The size of the database.
  cache_hit_rate: The share of blocks that were found in the page cache of PostgreSQL, 0 to 1. Null: nothing was read.
  tables: The 30 largest tables, largest first. Empty while a table is locked.
  indexes: The 40 largest indexes, largest first, after those that are not valid. Empty while a table is locked.
  jobs: Background jobs that keep a record of their runs, by name.');
