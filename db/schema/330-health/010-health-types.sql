-- What health() returns. Administrators read it in psql and over GraphQL; the console shows it.

create type public.table_health as (table_name text, live_rows bigint, dead_rows bigint, table_bytes bigint, index_bytes bigint,
  sequential_scans bigint, sequential_rows bigint, index_scans bigint, last_vacuum_at timestamptz, last_analyze_at timestamptz);
comment on type public.table_health is 'Size and use of a table, with all of its partitions.';
comment on column public.table_health.table_name is 'Schema and name.';
comment on column public.table_health.live_rows is 'How many rows it has, as PostgreSQL estimates.';
comment on column public.table_health.dead_rows is 'How many rows were deleted or replaced and take space until the next '
  'vacuum, as PostgreSQL estimates.';
comment on column public.table_health.table_bytes is 'Size without its indexes.';
comment on column public.table_health.index_bytes is 'Size of its indexes.';
comment on column public.table_health.sequential_scans is 'How often all of it was read, since the statistics were reset.';
comment on column public.table_health.sequential_rows is 'How many rows were read by reading all of it.';
comment on column public.table_health.index_scans is 'How often an index was used to read it, since the statistics were reset.';
comment on column public.table_health.last_vacuum_at is 'When it, or one of its partitions, was last vacuumed. Null: never.';
comment on column public.table_health.last_analyze_at is 'When its statistics for the planner were last computed. Null: never.';

create type public.index_health as (index_name text, table_name text, bytes bigint, scans bigint, last_scan_at timestamptz,
  is_unique boolean, is_valid boolean);
comment on type public.index_health is 'Size and use of an index, with those of all partitions.';
comment on column public.index_health.index_name is 'Schema and name.';
comment on column public.index_health.table_name is 'Table that the index belongs to.';
comment on column public.index_health.bytes is 'Size of the index.';
comment on column public.index_health.scans is 'How often it was used, since the statistics were reset. A unique index also '
  'serves by what it refuses.';
comment on column public.index_health.last_scan_at is 'When it was last used. Null: never.';
comment on column public.index_health.is_unique is 'Whether it refuses duplicates.';
comment on column public.index_health.is_valid is 'False: its creation failed, so no query uses it.';

create type public.job_health as (type text, runs integer, failed integer, running_since timestamptz, last_started_at timestamptz,
  last_completed_at timestamptz, last_seconds double precision, last_failed_at timestamptz, last_error text);
comment on type public.job_health is 'How the runs of a job ended, over the last seven days: the newest 10,000 rows of tasks '
  'are counted.';
comment on column public.job_health.type is 'The kind of work, such as embed_pending.';
comment on column public.job_health.runs is 'How many runs there were.';
comment on column public.job_health.failed is 'How many runs failed.';
comment on column public.job_health.running_since is 'When the oldest run that has not ended was started. Null: none is '
  'running.';
comment on column public.job_health.last_started_at is 'When the newest run was started.';
comment on column public.job_health.last_completed_at is 'When a run last completed.';
comment on column public.job_health.last_seconds is 'How long the run took that completed last.';
comment on column public.job_health.last_failed_at is 'When a run last failed.';
comment on column public.job_health.last_error is 'The error of the run that failed last: its name.';

create type public.health as (checked_at timestamptz, is_whole_server boolean, serving_model text, arriving_model text,
  arriving_memories integer, arriving_remaining integer, embedding_waiting integer, embedding_failing integer,
  embedding_error text, embedding_oldest_seconds double precision, extraction_waiting integer, extraction_given_up integer,
  extraction_oldest_seconds double precision, last_sealed_at timestamptz, views_refreshed_at timestamptz,
  unsealed_rows integer, unsealed_oldest_seconds double precision, accesses_waiting integer,
  accesses_oldest_seconds double precision, database_bytes bigint, cache_hit_rate double precision,
  tables public.table_health[], indexes public.index_health[], jobs public.job_health[]);
comment on type public.health is 'How the database is: numbers and names, never contents.';
comment on column public.health.checked_at is 'The time of these figures.';
comment on column public.health.is_whole_server is 'True: the figures count every tenant. False: another tenant uses this '
  'server too, so the figures count the caller''s tenant, and those that can''t be told apart by tenant are null or empty.';
comment on column public.health.serving_model is 'The embedding model whose vectors searches compare. Null: none yet.';
comment on column public.health.arriving_model is 'The embedding model that a change is under way to. Null: no change.';
comment on column public.health.arriving_memories is 'How many memories that change has to embed.';
comment on column public.health.arriving_remaining is 'How many memories that change has not embedded yet.';
comment on column public.health.embedding_waiting is 'How many memories wait for their vectors, counted up to 100,000; '
  'searches find them by words until then.';
comment on column public.health.embedding_failing is 'How many memories that wait for their vectors failed before and are '
  'tried again.';
comment on column public.health.embedding_error is 'The most frequent error of memories that wait for their vectors: its name.';
comment on column public.health.embedding_oldest_seconds is 'How long the first memory has been waiting for its vectors.';
comment on column public.health.extraction_waiting is 'How many memories wait to be read by the chat model, counted up to '
  '100,000.';
comment on column public.health.extraction_given_up is 'How many memories the chat model could not read, after five attempts.';
comment on column public.health.extraction_oldest_seconds is 'How long the first memory has been waiting for the chat model.';
comment on column public.health.last_sealed_at is 'When the audit log was last sealed. Null: never.';
comment on column public.health.views_refreshed_at is 'When the oldest of the materialized views was refreshed. Null: one '
  'never was.';
comment on column public.health.unsealed_rows is 'How many rows of the audit log are not sealed yet, counted up to 100,000.';
comment on column public.health.unsealed_oldest_seconds is 'The age of the first row of the audit log that is not sealed.';
comment on column public.health.accesses_waiting is 'How many accesses and votes do not count towards importance yet, counted '
  'up to 100,000 of each.';
comment on column public.health.accesses_oldest_seconds is 'The age of the first access or vote that does not count yet.';
comment on column public.health.database_bytes is 'The size of the database.';
comment on column public.health.cache_hit_rate is 'The share of blocks that were found in the page cache of PostgreSQL, 0 to '
  '1. Null: nothing was read.';
comment on column public.health.tables is 'The 30 largest tables, largest first. Empty while a table is locked.';
comment on column public.health.indexes is 'The 40 largest indexes, largest first, after those that are not valid. Empty '
  'while a table is locked.';
comment on column public.health.jobs is 'Background jobs that keep a record of their runs, by name.';
