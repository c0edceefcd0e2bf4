-- The built-in kinds, each with its rules and fields. The migration inserts them by a procedure that it drops at the end.
create procedure kinds.define_built_in(kind text, purpose text, rules jsonb, fields jsonb)
language plpgsql set search_path = '' as $$
declare
  defined public.memory_kinds := jsonb_populate_record(null::public.memory_kinds, rules);
begin
  insert into public.memory_kinds as k (
    kind, purpose, title_field, text_fields, identity_fields, identity_ends_when, locked_when, locked_fields, allowed_when_locked,
    when_locked, archived_from, archived_after, expires_from, expires_after, part_of_kind, part_of_field,
    stands_beside)
  values (
    kind, purpose, defined.title_field, coalesce(defined.text_fields, '{}'), coalesce(defined.identity_fields, '{}'),
    defined.identity_ends_when, defined.locked_when, defined.locked_fields, coalesce(defined.allowed_when_locked, '{}'),
    defined.when_locked, defined.archived_from, defined.archived_after, defined.expires_from, defined.expires_after,
    defined.part_of_kind, defined.part_of_field, coalesce(defined.stands_beside, false))
  returning k.* into defined;
  perform kinds.define_fields(defined.kind_id, null, fields);
end $$;

call kinds.define_built_in('document',
  'A document. Its text is its title, or what the writer gives; memory_store cuts the Markdown in body_md into memories of '
  'kind section.',
  '{"title_field": "title", "identity_fields": ["source_url|title"], "stands_beside": true,
   "locked_when": {"approved_at": true}, "locked_fields": ["title", "content", "approved_at", "approved_by"],
   "when_locked": "store a new document under another title or link"}', '[
  {"field": "title", "is_required": true, "max_length": 500, "meaning": "The title."},
  {"field": "aliases", "type": "text[]", "max_length": 200, "meaning": "Other names by which it is found."},
  {"field": "doc_type", "max_length": 100, "meaning": "What sort of document it is, such as guide or specification."},
  {"field": "source_url", "max_length": 2000, "meaning": "The link or path where it comes from. It identifies the document."},
  {"field": "approved_at", "type": "timestamp", "max_length": 40,
   "meaning": "When it was approved; title, sections, text and the approval itself are locked from then on."},
  {"field": "approved_by", "max_length": 200, "meaning": "Who approved it."}]');

call kinds.define_built_in('section', 'A part of a document, in Markdown.',
  '{"title_field": "heading", "text_fields": ["body_md"], "identity_fields": ["document_id", "content", "occurrence"],
   "part_of_kind": "document", "part_of_field": "document_id",
   "when_locked": "its document is approved: store a new document"}', '[
  {"field": "document_id", "type": "uuid", "max_length": 36, "meaning": "The id of its document."},
  {"field": "heading", "is_required": true, "max_length": 500, "meaning": "The heading under which it stands."},
  {"field": "level", "type": "number", "max_length": 40,
   "meaning": "The level of the heading, from 1 to 6; 0 before the first heading."},
  {"field": "position", "type": "number", "max_length": 40, "meaning": "Its order in the document; numbers need not be whole."},
  {"field": "occurrence", "type": "number", "max_length": 40,
   "meaning": "Tells sections with the same text in one document apart; left out for the first."},
  {"field": "body_md", "is_required": true, "max_length": 100000, "meaning": "The text in Markdown, with its heading."}]');

call kinds.define_built_in('runbook', 'The steps by which an operator handles a situation of a service.',
  '{"title_field": "title", "text_fields": ["title", "service", "steps"], "identity_fields": ["service", "title"]}', '[
  {"field": "service", "is_required": true, "max_length": 200, "meaning": "The service that it is for."},
  {"field": "title", "is_required": true, "max_length": 500, "meaning": "The situation that it handles."},
  {"field": "steps", "type": "object[]", "is_required": true, "max_length": 500, "meaning": "The steps in order.",
   "parts": [{"field": "number", "type": "number"}, {"field": "description", "is_required": true}, {"field": "command"},
     {"field": "expected"}]},
  {"field": "last_verified_at", "type": "timestamp", "max_length": 40, "meaning": "When somebody last followed it with success."},
  {"field": "owner", "max_length": 200, "meaning": "Who keeps it."}]');

call kinds.define_built_in('change', 'A change of something: code, a setting, a system.',
  '{"title_field": "summary", "text_fields": ["summary", "details"], "identity_fields": ["subject_ref", "summary"]}', '[
  {"field": "subject_ref", "is_required": true, "max_length": 1000,
   "meaning": "What was changed, such as a path, a setting or a system."},
  {"field": "change_type", "is_required": true, "max_length": 100,
   "meaning": "What sort of change it is, such as added, changed, fixed or removed."},
  {"field": "summary", "is_required": true, "max_length": 2000, "meaning": "What was changed, in a sentence."},
  {"field": "details", "meaning": "How and why."},
  {"field": "author", "max_length": 200, "meaning": "Who changed it."},
  {"field": "commit_sha", "max_length": 64, "meaning": "The commit."},
  {"field": "files", "type": "text[]", "meaning": "The files that were changed."}]');

call kinds.define_built_in('issue', 'An issue or ticket of a tracker.',
  '{"title_field": "title", "text_fields": ["title", "description"], "identity_fields": ["tracker", "external_id"]}', '[
  {"field": "tracker", "is_required": true, "max_length": 200, "meaning": "The tracker, such as github.com/acme/shop or jira."},
  {"field": "external_id", "is_required": true, "max_length": 200, "meaning": "The id in the tracker."},
  {"field": "title", "is_required": true, "max_length": 500, "meaning": "The title."},
  {"field": "status", "is_required": true, "max_length": 100, "meaning": "The status as the tracker calls it."},
  {"field": "description", "meaning": "What it is about."},
  {"field": "labels", "type": "text[]", "max_length": 100, "meaning": "Its labels."},
  {"field": "assignee", "max_length": 200, "meaning": "Who works on it."},
  {"field": "url", "max_length": 2000, "meaning": "A link to it."},
  {"field": "closed_at", "type": "timestamp", "max_length": 40, "meaning": "When it was closed."}]');

call kinds.define_built_in('decision', 'A decision, why it was made and what else was considered.',
  '{"title_field": "title", "text_fields": ["title", "rationale", "alternatives", "consequences"],
   "identity_fields": ["component", "title"], "identity_ends_when": {"status": ["superseded"]},
   "locked_when": {"status": ["accepted", "deprecated", "superseded"]},
   "allowed_when_locked": {"status": ["superseded", "deprecated"], "superseded_by": true},
   "when_locked": "store a new decision with supersedes = the id of this one, or set status to deprecated"}', '[
  {"field": "title", "is_required": true, "max_length": 500, "meaning": "What was decided, in a sentence."},
  {"field": "status", "is_required": true, "choices": ["proposed", "accepted", "rejected", "deprecated", "superseded"],
   "max_length": 40, "meaning": "Where it stands. Once accepted, only the way to superseded or deprecated is open."},
  {"field": "rationale", "is_required": true, "meaning": "Why."},
  {"field": "component", "max_length": 200, "meaning": "The part of the system that it is about."},
  {"field": "alternatives", "type": "text[]", "max_length": 100, "meaning": "What else was considered."},
  {"field": "consequences", "meaning": "What follows from it."},
  {"field": "supersedes", "type": "uuid", "max_length": 36, "meaning": "The id of the decision that this one replaces."},
  {"field": "superseded_by", "type": "uuid", "max_length": 36, "meaning": "The id of the decision that replaces this one."}]');

call kinds.define_built_in('todo', 'Something to do.',
  '{"text_fields": ["text"], "identity_ends_when": {"status": ["done", "cancelled"]},
   "archived_from": "closed_at", "archived_after": "90 days"}', '[
  {"field": "text", "is_required": true, "max_length": 10000, "meaning": "What is to be done."},
  {"field": "todo_type", "max_length": 100, "meaning": "What sort of work it is."},
  {"field": "status", "is_required": true, "choices": ["open", "in_progress", "blocked", "done", "cancelled"], "max_length": 40,
   "meaning": "Where it stands."},
  {"field": "priority", "max_length": 40, "meaning": "How urgent it is, such as high."},
  {"field": "due_date", "type": "date", "max_length": 10, "meaning": "By when it is to be done."},
  {"field": "assignee", "max_length": 200, "meaning": "Who does it."},
  {"field": "closed_at", "type": "timestamp", "max_length": 40,
   "meaning": "When it was done or cancelled, by default when that is stored; 90 days later it is archived."}]');

call kinds.define_built_in('release_note', 'What is new in a version.',
  '{"title_field": "version", "identity_fields": ["version"],
   "text_fields": ["version", "summary", "breaking_changes", "new_features", "bug_fixes", "deprecations"]}', '[
  {"field": "version", "is_required": true, "max_length": 100, "meaning": "The version."},
  {"field": "release_date", "type": "date", "is_required": true, "max_length": 10, "meaning": "The day of the release."},
  {"field": "summary", "meaning": "What is new, in a few sentences."},
  {"field": "breaking_changes", "type": "text[]", "meaning": "What users must change."},
  {"field": "new_features", "type": "text[]", "meaning": "What is new."},
  {"field": "bug_fixes", "type": "text[]", "meaning": "What was mended."},
  {"field": "deprecations", "type": "text[]", "meaning": "What will go."}]');

call kinds.define_built_in('ddl', 'A migration of a database schema that was or will be applied.',
  '{"title_field": "migration_id", "text_fields": ["migration_id", "description", "ddl_text"],
   "identity_fields": ["migration_id"], "locked_when": {}, "locked_fields": ["migration_id", "ddl_text", "checksum"],
   "when_locked": "store another migration under a migration_id of its own"}', '[
  {"field": "migration_id", "is_required": true, "max_length": 200, "meaning": "The id of the migration."},
  {"field": "ddl_text", "is_required": true, "max_length": 100000, "meaning": "Its statements."},
  {"field": "checksum", "is_required": true, "max_length": 64, "sha256_of": "ddl_text",
   "meaning": "The SHA-256 of ddl_text in hexadecimal digits."},
  {"field": "description", "max_length": 10000, "meaning": "What it does."},
  {"field": "applied_at", "type": "timestamp", "max_length": 40, "meaning": "When it was applied."},
  {"field": "status", "max_length": 100, "meaning": "Where it stands, such as applied."}]');

call kinds.define_built_in('pr_context', 'A pull request and what it is about.',
  '{"title_field": "title", "text_fields": ["title", "description"], "identity_fields": ["repository", "pr_number"],
   "expires_from": "merged_at", "expires_after": "30 days"}', '[
  {"field": "repository", "is_required": true, "max_length": 500, "meaning": "The repository, such as acme/shop."},
  {"field": "pr_number", "type": "number", "is_required": true, "max_length": 40, "meaning": "The number of the pull request."},
  {"field": "title", "is_required": true, "max_length": 500, "meaning": "The title."},
  {"field": "status", "is_required": true, "max_length": 100, "meaning": "Where it stands, such as open, merged or closed."},
  {"field": "author", "max_length": 200, "meaning": "Who opened it."},
  {"field": "branch", "max_length": 255, "meaning": "The branch with the change."},
  {"field": "base", "max_length": 255, "meaning": "The branch that it is to be merged into."},
  {"field": "description", "meaning": "What it is about."},
  {"field": "merged_at", "type": "timestamp", "max_length": 40, "meaning": "When it was merged; 30 days later it expires."}]');

drop procedure kinds.define_built_in(text, text, jsonb, jsonb);
