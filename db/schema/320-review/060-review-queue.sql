-- The operation review_queue: what waits for a review, oldest first, with what a reviewer has to know to decide.

create type public.review_duplicate as (
  packet_id uuid, similarity real, content text, creator text, source text, created_at timestamptz);
call identity.describe('public.review_duplicate', 'A memory that counts and says nearly the same as one that waits.
  packet_id: The memory.
  similarity: From 0.75 to 1; 1 means the same words.
  content: Its text, at most 2000 characters of it.
  creator: The agent that wrote it.
  source: The source of that agent.
  created_at: When it was saved.');

create type public.review_contradiction as (
  fact_id uuid, subject text, predicate text, present_object jsonb, new_object jsonb, confidence double precision,
  source_packet uuid, creator text, is_from_admin boolean);
call identity.describe('public.review_contradiction', 'A fact that holds, and that the approval of a memory would contradict.
  fact_id: The fact.
  subject: What it is about.
  predicate: The property or relation.
  present_object: Its value now.
  new_object: The value that the memory states.
  confidence: How sure the present value is, from 0 to 1.
  source_packet: The memory that states the present value.
  creator: Who states it.
  is_from_admin: True if an administrator states it: then it stays in spite of the approval.');

create type public.review_rejection as (packet_id uuid, reviewed_by text, reviewed_at timestamptz, review_reason text);
call identity.describe('public.review_rejection', 'A memory of the same text that was rejected before.
  packet_id: The memory.
  reviewed_by: The administrator who rejected it.
  reviewed_at: When it was rejected.
  review_reason: Why it was rejected.');

create type public.review_item as (
  packet_id uuid, kind text, title text, content text, is_truncated boolean, fields jsonb, scope text, project_id text,
  branch text, tags text[], creator text, source text, agent text, tool_name text, speaker text, "timestamp" timestamptz,
  created_at timestamptz, updated_at timestamptz, duplicates public.review_duplicate[],
  contradictions public.review_contradiction[], rejected_before public.review_rejection[]);
call identity.describe('public.review_item', 'A memory that waits for a review.
  packet_id: The memory.
  kind: Its kind.
  title: Its title, if its kind has one.
  content: Its text, at most 8000 characters of it.
  is_truncated: True if the text is longer; get_memory returns all of it.
  fields: The fields of its kind; null if they are larger than 16 KiB.
  scope: Who can see it once it is approved.
  project_id: Its project.
  branch: Its branch; null: every branch.
  tags: Its labels.
  creator: The agent that wrote it.
  source: The source of that agent.
  agent: The name that the agent goes by.
  tool_name: The tool or mutation that saved it.
  speaker: Who said it.
  timestamp: When it happened.
  created_at: When it was saved.
  updated_at: When it was last changed: its version. Pass it as expected_version.
  duplicates: Memories that count and say nearly the same, most similar first.
  contradictions: Facts that hold and that its approval would contradict.
  rejected_before: Memories of the same text that were rejected, the last first.');

create type public.review_page as (items public.review_item[], waiting integer, next_cursor text);
call identity.describe('public.review_page', 'A part of the queue of a reviewer.
  items: What waits, oldest first.
  waiting: How many memories wait that meet the filters; 1000 stands for 1000 or more.
  next_cursor: Give it as cursor to read on; null: there are no more.');

create function review.statements_of(memory public.packet_store)
returns table (subject text, predicate text, object jsonb)
language sql stable set search_path = ''
begin atomic
  select s.fact ->> 'subject', entities.normalise_name(s.fact ->> 'predicate'), s.fact -> 'object'
  from (
    select (memory).envelope as fact
    union all
    select f.fact from jsonb_path_query((memory).envelope, 'lax $.on_approval.arguments.extraction.facts[*]') as f (fact)
  ) s
  where jsonb_typeof(s.fact) = 'object' and jsonb_typeof(s.fact -> 'subject') = 'string'
    and jsonb_typeof(s.fact -> 'predicate') = 'string' and s.fact -> 'object' is not null;
end;
comment on function review.statements_of is 'The facts that a memory will state once it counts: of kind fact its own, of an '
  'extraction all of them.';

create function review.contradictions_of(memory public.packet_store) returns public.review_contradiction[]
language sql stable set search_path = ''
return coalesce((
  select array_agg(
    row(f.fact_id, f.subject, f.predicate, f.object, s.object, f.confidence, f.source_packet, f.creator, f.is_from_admin)
      ::public.review_contradiction order by f.subject, f.predicate, f.fact_id)
  from review.statements_of(memory) s
  join public.knowledge_facts f on f.tenant_id = (memory).tenant_id
    and f.audience_id = packets.audience_id(
      (memory).tenant_id, (memory).org_id, (memory).user_id, (memory).project_id, (memory).scope)
    and f.subject_normalized = entities.normalise_name(s.subject) and f.predicate = s.predicate
  where f.is_single_valued and f.valid_to is null and f.retracted_at is null
    and entities.normalise_name(f.object #>> '{}') <> entities.normalise_name(s.object #>> '{}')), '{}');
comment on function review.contradictions_of is 'The facts with one value at a time that hold now, where a memory will state '
  'another value once it counts.';

create function review.duplicates_of(memory public.packet_store) returns public.review_duplicate[]
language sql stable set search_path = ''
return coalesce((
  select array_agg(
    row(p.packet_id, s.similarity, left(p.envelope ->> 'content', 2000), p.metadata ->> 'creator', p.metadata ->> 'source',
      p.created_at)::public.review_duplicate order by s.similarity desc, p.packet_id)
  from duplicates.find_similar((memory).envelope ->> 'content', (memory).scope, (memory).project_id, (memory).branch,
    (memory).packet_type, (memory).org_id, (memory).user_id, (memory).packet_id) s
  join public.packet_store p on p.packet_id = s.packet_id
  where p.withheld_creator is null), '{}');
comment on function review.duplicates_of is 'The memories that count, in the place and of the kind of this one, and say nearly '
  'the same.';

create function review.rejections_of(memory public.packet_store) returns public.review_rejection[]
language sql stable set search_path = ''
return coalesce((
  select array_agg(
    row(r.packet_id, r.reviewed_by, r.reviewed_at, r.review_reason)::public.review_rejection
    order by r.reviewed_at desc, r.packet_id)
  from (
    select p.* from public.packet_store p
    where p.review_state = 'rejected' and p.tenant_id = (memory).tenant_id and p.content_hash = (memory).content_hash
      and p.packet_id <> (memory).packet_id
    order by p.reviewed_at desc, p.packet_id limit 10) r), '{}');
comment on function review.rejections_of is 'The memories of this text, of whatever creator, that were rejected and have not '
  'expired.';

create function review.to_item(memory public.packet_store) returns public.review_item
language sql stable set search_path = ''
return row(
  (memory).packet_id, (memory).packet_type, (memory).title, left((memory).envelope ->> 'content', 8000),
  length((memory).envelope ->> 'content') > 8000,
  case when octet_length(((memory).envelope - 'content')::text) <= 16384 then (memory).envelope - 'content' end,
  (memory).scope, (memory).project_id, (memory).branch, (memory).tags, (memory).metadata ->> 'creator',
  (memory).metadata ->> 'source', (memory).metadata ->> 'agent', (memory).metadata ->> 'tool_name', (memory).speaker,
  (memory)."timestamp", (memory).created_at, (memory).updated_at, review.duplicates_of(memory),
  review.contradictions_of(memory), review.rejections_of(memory))::public.review_item;
comment on function review.to_item is 'A memory as a reviewer sees it.';

-- The ids of memories are in the order of their times of saving, so the cursor is the last id.
create function public.review_queue(
  k integer default 20, cursor text default null, scope text default null, project_id text default null,
  creator text default null, kinds text[] default null) returns public.review_page
language plpgsql volatile set search_path = '' as $$
declare
  me constant identity.identity := identity.require_admin();
  after constant uuid := identity.uuid_of(identity.given_text(review_queue.cursor));
  only_scope constant text := identity.given_text(review_queue.scope);
  only_project constant text := nullif(identity.given_text(review_queue.project_id), '*');
  only_creator constant text := identity.given_text(review_queue.creator);
  only_kinds constant text[] := identity.given_list(review_queue.kinds);
  found_ids uuid[];
  page public.review_page;
begin
  if k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: from 1 to 100');
  elsif identity.given_text(review_queue.cursor) is not null and after is null then
    perform identity.raise_error('L9VAL', 'cursor: must be the next_cursor of an earlier answer');
  end if;
  with waiting as not materialized (
    select p.packet_id from public.packet_store p
    where p.tenant_id = me.tenant_id and p.review_state = 'pending' and p.part_of is null
      and (only_scope is null or p.scope = only_scope) and (only_project is null or p.project_id = only_project)
      and (only_creator is null or p.metadata ->> 'creator' = only_creator)
      and (only_kinds is null or p.packet_type = any (only_kinds))
  )
  select (select count(*) from (select from waiting limit 1000)),
    array(select w.packet_id from waiting w where after is null or w.packet_id > after order by w.packet_id limit k + 1)
  into page.waiting, found_ids;
  if cardinality(found_ids) > k then
    found_ids := found_ids[1:k];
    page.next_cursor := found_ids[k];
  end if;
  page.items := array(
    select review.to_item(p) from public.packet_store p where p.packet_id = any (found_ids) order by p.packet_id);
  perform audit.audit_read('READ', jsonb_build_object('review_queue', true, 'ids', to_jsonb(found_ids)),
    project_id => only_project, scope => only_scope);
  return page;
end $$;
comment on function public.review_queue is 'The memories that wait for a review and that the caller may read, oldest first, '
  'each with who wrote it, near-duplicates, present facts that its approval would contradict, and rejections of the same text. '
  'k: 1 to 100. cursor: next_cursor of the page before. For administrators. Writes an audit row. Errors: L9VAL, L9SCP, L9AUT.';

grant execute on function review.statements_of, review.contradictions_of, review.duplicates_of, review.rejections_of,
  review.to_item to l9_admin;
grant execute on function public.review_queue to l9_agent, l9_admin;
