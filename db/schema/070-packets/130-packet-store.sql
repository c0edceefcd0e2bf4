-- The table of memories, with its indexes, policies and triggers. Callers read it, and write it through save_memory()
-- and its neighbours or by themselves: the policies and triggers apply either way.
create table public.packet_store (
  packet_id uuid primary key default uuidv7(),
  packet_type text not null default 'note',
  envelope jsonb not null,
  title text,
  -- Virtual, so that it is computed from the envelope and takes no storage.
  content text generated always as (envelope ->> 'content') virtual,
  -- No default, so that a trigger can tell whether the writer gave it.
  "timestamp" timestamptz not null,
  routing jsonb not null default '{}',
  provenance jsonb not null default '{}',
  metadata jsonb not null default '{}',
  thread_id text,
  -- Generated, so that nobody can write it and it follows every change of text, kind and metadata.
  speaker text generated always as (case when packet_type = 'message' or metadata ? 'speaker' then
    packets.speaker_of(packet_type, metadata, envelope ->> 'content') end) stored,
  parent_ids uuid[] not null default '{}',
  tags text[] not null default '{}',
  ttl timestamptz,
  archived_at timestamptz,
  -- Deleted with the whole. The check runs as the owner of the table, so a trigger first requires that the writer may change
  -- the whole.
  part_of uuid references public.packet_store on delete cascade,
  project_id text,
  branch text,
  scope text not null default 'developer',
  importance_score real not null default 0.5,
  access_count bigint not null default 0,
  last_accessed timestamptz,
  contradiction_count integer not null default 0,
  content_hash bytea not null,
  identity_hash bytea not null,
  has_own_identity boolean not null default false,
  text_creator text,
  review_state text,
  reviewed_by text,
  reviewed_at timestamptz,
  review_reason text,
  -- Generated, so that nobody can write it. Policies, the unique index and statistics need no other column.
  withheld_creator text generated always as (
    case when review_state in ('pending', 'rejected') then metadata ->> 'creator' end) stored,
  chunk_count integer not null default 0,
  is_chunked boolean not null generated always as (chunk_count > 0) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  correlation_id text,
  session_id text,
  trace_id text,
  -- No default, so that a trigger can tell whether the writer gave it.
  language text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  words tsvector not null,
  -- Generated, because counting takes as long as weighing the words of fifty candidates.
  word_count integer not null generated always as (words.length(words)) stored,
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint packet_kind_plain check (packet_type ~ packets.kind_pattern()),
  constraint packet_envelope_object check (jsonb_typeof(envelope) = 'object'),
  constraint packet_content_text check (jsonb_typeof(envelope -> 'content') = 'string'),
  constraint packet_routing_object check (jsonb_typeof(routing) = 'object'),
  constraint packet_provenance_object check (jsonb_typeof(provenance) = 'object'),
  constraint packet_metadata_object check (jsonb_typeof(metadata) = 'object'),
  constraint packet_metadata_has_writer check (metadata ->> 'creator' <> '' and metadata ->> 'source' <> ''),
  constraint packet_content_not_blank check (not identity.is_blank(envelope ->> 'content')),
  constraint packet_content_at_most_1_mib check (octet_length(envelope ->> 'content') <= packets.max_content_bytes()),
  constraint packet_metadata_at_most_64_kib check (
    octet_length((metadata - 'updated_by')::text) <= packets.max_metadata_bytes()),
  constraint packet_tags_at_most_64 check (cardinality(tags) <= packets.max_tags()),
  constraint packet_parents_at_most_64 check (cardinality(parent_ids) <= packets.max_parents()),
  constraint packet_notes_object check (coalesce(jsonb_typeof(metadata -> 'notes'), 'object') = 'object'),
  constraint packet_project_plain check (identity.is_project_id(project_id)),
  constraint packet_branch_plain check (identity.is_branch(branch)),
  constraint packet_branch_of_project check (branch is null or project_id is not null),
  constraint packet_importance_between_0_and_1 check (importance_score between 0 and 1),
  constraint packet_language_known check (language = any (words.languages())),
  constraint packet_review_state_known check (review_state in ('pending', 'approved', 'rejected')),
  constraint packet_review_is_signed check (
    (review_state in ('approved', 'rejected')) is true = (reviewed_by is not null and reviewed_at is not null)),
  constraint packet_review_reason_at_most_1000_bytes check (octet_length(review_reason) <= packets.max_reason_bytes()),
  constraint packet_timestamp_finite check (isfinite("timestamp")),
  constraint packet_timestamp_at_most_5_minutes_ahead check ("timestamp" - created_at <= packets.max_time_ahead()),
  constraint packet_counts_not_negative check (access_count >= 0 and contradiction_count >= 0 and chunk_count >= 0),
  constraint packet_content_hash_sha256 check (octet_length(content_hash) = 32),
  constraint packet_not_its_own_parent check (packet_id <> all (parent_ids)),
  constraint packet_ids_short check (
    greatest(octet_length(thread_id), octet_length(correlation_id), octet_length(session_id), octet_length(trace_id))
      <= packets.max_reference_bytes())
) with (fillfactor = 90);

-- The planner needs no statistics of contents. Without samples, EXPLAIN estimates reveal nothing about hidden memories,
-- and an erased memory leaves nothing in pg_statistic.
alter table public.packet_store
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column content_hash set statistics 0,
  alter column identity_hash set statistics 0, alter column title set statistics 0,
  alter column speaker set statistics 0, alter column text_creator set statistics 0,
  alter column review_state set statistics 0, alter column reviewed_by set statistics 0,
  alter column review_reason set statistics 0, alter column withheld_creator set statistics 0,
  alter column correlation_id set statistics 0, alter column session_id set statistics 0, alter column trace_id set statistics 0,
  alter column words set statistics 0, alter column word_count set statistics 0, alter column branch set statistics 0;
-- A search reads the words of hundreds of candidates but the contents of few hits, so a long content leaves the row first.
alter table public.packet_store alter column words set storage main;
do $$
begin
  alter table public.packet_store alter column words set compression lz4, alter column envelope set compression lz4;
exception when feature_not_supported then -- on the embedded engine
  null;
end $$;
call identity.describe('public.packet_store', 'Memories: what agents and people asked the system to keep. Tenant, org, user, scope
    and project decide who may read a memory; its author never does.
  packet_id: UUID version 7, so ids are ordered by the time of saving. Memories imported from the old tables keep the id they had
    there.
  packet_type: The kind of memory, such as note, decision or section: a lower-case word of at most 63 characters.
  envelope: The content (key `content`) and the structured fields beside it. A kind of memory_kinds says which fields there are,
    and makes the content from them where it has text_fields.
  title: The title of a memory of a kind that has one (memory_kinds.title_field). A trigger sets it from the fields.
  content: The text as it was saved, at most 1 MiB.
  timestamp: When it happened: as the writer says, at most five minutes ahead of the clock, or else when the memory was saved.
  routing: Where the packet was sent: an object, stored as the writer gave it.
  provenance: What the memory was made from: an object, stored as the writer gave it.
  metadata: An object of at most 64 KiB beside updated_by. creator, source, agent and tool_name are stamped from the caller that
    saved the memory and never change (source is extraction, and model its name, where a chat model drafted it); updated_by
    holds the same of the caller that changed it last, with caller and at (the time). notes (an object) and other keys are
    stored as given; an agent or tool_name that the client sends is kept in notes.
  thread_id: The conversation or task that the memory belongs to.
  speaker: Who said it: metadata.speaker, or the name that begins the text of a memory of kind message, as in "Ann: good morning".
    Null if neither names anyone.
  parent_ids: Ids of the memories it was derived from. Each parent is older, visible to the writer, and visible to everyone who
    may read this memory.
  tags: Labels: at most 64, trimmed, without repeats.
  ttl: When the memory expires; null means never, and so does infinity, where the rules of its kind would say otherwise. After
    that time nobody can find or read it, and cleanup deletes it.
  archived_at: From when on the memory is out of searches and lists, by the rules of its kind; it stays readable by its id. A
    trigger sets it from the fields.
  part_of: The memory that it is a part of, as a section is of its document. A part moves, expires and is deleted with the whole.
  project_id: A repository or product, such as l9. It is null exactly when the scope has no projects.
  branch: The branch of the repository for which the memory holds; null means every branch. It narrows searches and tells
    duplicates apart; it does not decide who may read the memory.
  scope: Decides who may read the memory: developer, l-private, global, or a scope of the tenant''s own.
  importance_score: How much the memory matters by the writer''s own estimate, from 0 to 1. packet_store_importance_score() also
    takes usage and feedback into account.
  access_count: How often the memory was used before it was imported. Later use is counted in memory_signals.
  last_accessed: When the memory was last used before it was imported. Later use is in memory_signals.
  contradiction_count: How many facts contradicted the memory before it was imported. Later contradictions are counted in
    memory_signals.
  content_hash: SHA-256 of the content after trimming, collapsing white space and lower-casing it.
  identity_hash: SHA-256 of the identity fields of its kind, or of its content if the kind has none, with what case and
    indentation mean in it. Two memories of one owner, scope, project, branch and kind can''t have the same value.
  has_own_identity: True if another writer had a memory of this identity first, which the creator may not change: this one is the
    same only as others of its creator.
  text_creator: The administrator who stands by the present text and fields of a memory that somebody else created: who changed
    them last, or saved the same text. Null: they are the creator''s own. Where it is set, agents may no longer change, delete,
    supersede or merge the memory.
  review_state: Null: the memory needs no review. pending: it waits for a reviewer. approved: it counts. rejected: it is kept for
    its writer and reviewers until it expires. A trigger sets it by review_rules; reviewers change it.
  reviewed_by: The creator name of the administrator who approved or rejected the memory.
  reviewed_at: When the memory was approved or rejected.
  review_reason: Why the memory was approved or rejected, at most 1000 bytes.
  withheld_creator: The creator of a memory that is pending or rejected, which exists for that one and for reviewers only. Null:
    the memory counts.
  chunk_count: The number of chunks a long content was cut into for embedding. It is 0 if the content was embedded whole, or is
    not embedded yet.
  is_chunked: True if the content was cut into chunks for embedding.
  tenant_id: The tenant that owns the memory.
  org_id: The org that owns the memory; null means the whole tenant.
  user_id: The user who owns the memory; null means the whole org.
  correlation_id: The writer''s own reference, at most 200 bytes.
  session_id: The session in which the memory was written.
  trace_id: The trace in which the memory was written.
  language: The language of the content, such as german; none if its words are not stemmed. Given by the writer, or chosen among
    the languages of the tenant.
  created_at: When the memory was saved. It is stamped and never changes.
  updated_at: When a caller last changed the memory.
  words: The words by which the memory is found, from words.of_memory(). A trigger keeps them; callers can''t set them.
  word_count: How many words the memory has, stop words excepted: the length by which BM25 weighs them.');

-- One memory for one text, or for the identity that its kind defines, in each owner, project, branch, scope and kind. The key
-- holds owner and scope, so that a collision is never with a row that the writer can't see. People repeat themselves, so a
-- message is a duplicate only if the same speaker said it in the same thread at the same time. What is withheld is a duplicate
-- only of what else is withheld of the same creator.
create unique index packet_content_unique on public.packet_store (
  identity_hash, tenant_id, scope, project_id, branch, packet_type, org_id, user_id,
  (case when packet_type = 'message' then thread_id end), (case when packet_type = 'message' then "timestamp" end),
  (case when packet_type = 'message' then speaker end), withheld_creator) nulls not distinct;
-- Like those of the columns, statistics of these expressions would keep samples of erased memories.
alter index public.packet_content_unique
  alter column 9 set statistics 0, alter column 10 set statistics 0, alter column 11 set statistics 0;

do $$
declare
  bucket integer;
  name text;
begin
  foreach bucket in array packets.tenant_buckets() loop
    name := 'packet_store_words_bm25_' || bucket;
    -- With b = 0 a score does not depend on the average length of all texts, and each further occurrence of a word counts by a
    -- formula of its own: ranking.walk_words() needs both.
    execute format(
      $sql$create index %I on public.packet_store using bm25 (words.index_text(words))
        with (text_config = 'simple', k1 = 0.9, b = 0) where %s$sql$,
      name, packets.in_bucket('', bucket));
    -- Statistics of an index expression hold samples of contents, which EXPLAIN estimates would reveal bit by bit.
    execute format('alter index public.%I alter column 1 set statistics 0', name);
    execute format('comment on index public.%I is %L', name,
      'Words (BM25) of one bucket of tenants. Only functions of l9_searcher scan it, because its scores depend on hidden rows '
      'too.');
  end loop;
end $$;

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
-- A cheap bounded count of the rows that a caller may read; search uses it to choose its plan.
create index packet_store_readers_idx on public.packet_store (tenant_id, scope, user_id, org_id, project_id, branch)
  include (packet_id, ttl, archived_at, withheld_creator, review_state);
create index packet_store_archived_idx on public.packet_store (packet_id) where archived_at is not null;
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id, "timestamp", packet_id)
  where thread_id is not null;
create index packet_store_session_idx on public.packet_store (tenant_id, session_id) where session_id is not null;
-- No index on tags: && and @> are not leakproof, so that row-level security keeps every caller from using it, and a GIN index
-- never gives up a key, so that an erased tag would stay readable in its pages.
create index packet_store_trace_idx on public.packet_store (tenant_id, trace_id) where trace_id is not null;
create index packet_store_typed_content_idx on public.packet_store (content_hash) where identity_hash <> content_hash;
create index packet_store_parts_idx on public.packet_store (part_of) where part_of is not null;
create index packet_store_pending_idx on public.packet_store (tenant_id, packet_id) where review_state = 'pending';
create index packet_store_rejected_idx on public.packet_store (tenant_id, content_hash) where review_state = 'rejected';
create index packet_store_ttl_idx on public.packet_store (ttl) where ttl is not null;

comment on index public.packet_content_unique is 'Prevents exact duplicates, also between concurrent writers.';
-- There is no GIN index on tags or envelope: their operators are not leakproof, so row-level security would prevent its use.

call identity.protect_like_memories('public.packet_store', is_writable => true);

-- The other columns of a row say who may read it once it counts.
call packets.review_visibility('public.packet_store');
create policy review_of_jobs on public.packet_store as restrictive to l9_worker using (withheld_creator is null);
do $$
begin
  execute format($sql$create policy review_of_searches on public.packet_store as restrictive to l9_searcher
    using (withheld_creator is null
      or ((select identity.current_role_name()) <> 'l9_agent' or withheld_creator = (select identity.current_creator()))
        and %s)$sql$, packets.shown_condition());
end $$;
create policy creator_updates on public.packet_store as restrictive for update to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator()) and text_creator is null
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy creator_deletes on public.packet_store as restrictive for delete to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator()) and text_creator is null
    and review_state is distinct from 'rejected'
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_updates on public.packet_store as restrictive for update to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_deletes on public.packet_store as restrictive for delete to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy worker_access on public.packet_store to l9_worker using (true);
do $$
begin
  execute format('create policy word_search on public.packet_store for select to l9_searcher
    using ((ttl is null or ttl > now()) and %s)', identity.searcher_condition('packet_store'));
end $$;
create policy definer_functions on public.packet_store for select to l9_owner using (ttl <= now());
create policy definer_locks on public.packet_store for update to l9_owner using (ttl <= now()) with check (false);
create policy definer_cleanup on public.packet_store for delete to l9_owner using (ttl <= now());

comment on policy review_of_jobs on public.packet_store is 'Jobs derive nothing from what is pending or rejected, and count '
  'nothing of it.';
comment on policy review_of_searches on public.packet_store is 'The functions that scan the index of words see of what is '
  'pending or rejected what their caller sees.';
comment on policy creator_updates on public.packet_store is 'Agents may change only memories that they wrote, and whose present '
  'text is not an administrator''s.';
comment on policy creator_deletes on public.packet_store is 'Agents may delete only memories that they wrote, whose present text '
  'is not an administrator''s, and that are not rejected: else the same text could be saved again and ask a second time.';
comment on policy writable_updates on public.packet_store is 'Admins may not change memories in a scope that they may only read.';
comment on policy writable_deletes on public.packet_store is 'Admins may not delete memories in a scope that they may only read.';
comment on policy worker_access on public.packet_store is 'Jobs read contents in order to embed them, and set chunk_count; the '
  'grants list the columns.';
comment on policy word_search on public.packet_store is 'The functions that scan the index of words see what their caller may '
  'read.';
comment on policy definer_functions on public.packet_store is 'Functions of the owner see expired memories, and no others.';
comment on policy definer_locks on public.packet_store is 'Functions of the owner lock expired memories, so that concurrent '
  'cleanups share the work. They can''t change any.';
comment on policy definer_cleanup on public.packet_store is 'Functions of the owner delete expired memories, and no others.';

create trigger _100_apply_kind before insert or update of envelope, packet_type, ttl on public.packet_store
  for each row execute function packets.tg_packet_store__apply_kind();

create trigger _100_normalise
  before insert or update of envelope, metadata, routing, provenance, tags, packet_type, importance_score, parent_ids,
    thread_id, correlation_id, session_id, trace_id, language, branch
  on public.packet_store
  for each row execute function packets.tg_packet_store__normalise();

create trigger _300_stamp
  before insert or update of envelope, packet_type, "timestamp", metadata, routing, provenance, thread_id, parent_ids, tags, ttl,
    project_id, branch, scope, importance_score, correlation_id, session_id, trace_id, language, text_creator, review_state
  on public.packet_store
  for each row when (current_user <> 'l9_owner' or not packets.is_job_writing())
  execute function packets.tg_packet_store__stamp();

call secrets.guard_table('public.packet_store', array['packet_type', 'title', 'review_state', 'reviewed_by'],
  refused_columns => array['branch', 'project_id'],
  then_do => $$
        new.content_hash := packets.content_hash(new.envelope ->> 'content');
        new.identity_hash := packets.identity_hash(new.packet_type, new.tenant_id, new.envelope, new.packet_id,
          case when new.has_own_identity then new.metadata ->> 'creator' end);
        new.title := new.envelope ->> (kinds.rules_of(new.packet_type, new.tenant_id) ->> 'title');$$);

create trigger _380_words before insert or update of envelope, packet_type, "timestamp", language on public.packet_store
  for each row execute function packets.tg_packet_store__words();

create trigger _400_check_parents before insert or update of parent_ids, scope, project_id on public.packet_store
  for each row when (cardinality(new.parent_ids) > 0) execute function packets.tg_packet_store__check_parents();

create trigger _450_replace_expired
  before insert or update of envelope, scope, project_id, branch, packet_type, thread_id, "timestamp", metadata, review_state
  on public.packet_store
  for each row execute function packets.tg_packet_store__replace_expired();

create trigger _500_audit_insert after insert on public.packet_store referencing new table as new_rows
  for each statement execute function packets.tg_packet_store__audit();
create trigger _500_audit_delete after delete on public.packet_store referencing old table as old_rows
  for each statement execute function packets.tg_packet_store__audit();

create trigger _200_refuse_truncate before truncate on public.packet_store
  for each statement execute function packets.tg_packet_store__refuse_truncate();

grant select, delete on public.packet_store to l9_agent, l9_admin;
grant insert ( packet_type, envelope, "timestamp", routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id,
  branch, scope, importance_score, correlation_id, session_id, trace_id, language ) on public.packet_store to l9_agent, l9_admin;
grant update ( packet_type, envelope, "timestamp", routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id,
  branch, scope, importance_score, correlation_id, session_id, trace_id, language ) on public.packet_store to l9_agent, l9_admin;
-- The trigger that stamps allows only the administrator's own name, or null, which gives the text back to its creator.
grant update (text_creator) on public.packet_store to l9_admin;
-- A trigger stamps who decided, and when.
grant update (review_state, review_reason) on public.packet_store to l9_admin;
grant select on public.packet_store to l9_platform_admin, l9_worker, l9_searcher;
grant maintain on public.packet_store to l9_worker; -- To run ANALYZE where no autovacuum does.
grant update (chunk_count) on public.packet_store to l9_worker;
-- packet_id, title, content_hash, identity_hash, has_own_identity, archived_at, part_of, speaker, tenant_id, org_id, user_id,
-- created_at, reviewed_by, reviewed_at, words and counters can't be inserted or updated by callers: triggers and jobs set them.
