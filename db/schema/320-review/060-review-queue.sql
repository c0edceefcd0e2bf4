-- The operation review_queue: what waits for a review, oldest first, with what a reviewer has to know to decide.

create type public.review_duplicate as (
  packet_id uuid, similarity real, content text, creator text, source text, created_at timestamptz);
comment on type public.review_duplicate is 'A memory that counts and says nearly the same as one that waits.';
comment on column public.review_duplicate.packet_id is 'The memory.';
comment on column public.review_duplicate.similarity is 'From 0.75 to 1; 1 means the same words.';
comment on column public.review_duplicate.content is 'Its text, at most 2000 characters of it.';
comment on column public.review_duplicate.creator is 'The agent that wrote it.';
comment on column public.review_duplicate.source is 'The source of that agent.';
comment on column public.review_duplicate.created_at is 'When it was saved.';

create type public.review_contradiction as (
  fact_id uuid, subject text, predicate text, present_object jsonb, new_object jsonb, confidence double precision,
  source_packet uuid, creator text, is_from_admin boolean);
comment on type public.review_contradiction is 'A fact that holds, and that the approval of a memory would contradict.';
comment on column public.review_contradiction.fact_id is 'The fact.';
comment on column public.review_contradiction.subject is 'What it is about.';
comment on column public.review_contradiction.predicate is 'The property or relation.';
comment on column public.review_contradiction.present_object is 'Its value now.';
comment on column public.review_contradiction.new_object is 'The value that the memory states.';
comment on column public.review_contradiction.confidence is 'How sure the present value is, from 0 to 1.';
comment on column public.review_contradiction.source_packet is 'The memory that states the present value.';
comment on column public.review_contradiction.creator is 'Who states it.';
comment on column public.review_contradiction.is_from_admin is 'True if an administrator states it: then it stays in spite of '
  'the approval.';

create type public.review_rejection as (packet_id uuid, reviewed_by text, reviewed_at timestamptz, review_reason text);
comment on type public.review_rejection is 'A memory of the same text that was rejected before.';
comment on column public.review_rejection.packet_id is 'The memory.';
comment on column public.review_rejection.reviewed_by is 'The administrator who rejected it.';
comment on column public.review_rejection.reviewed_at is 'When it was rejected.';
comment on column public.review_rejection.review_reason is 'Why it was rejected.';

create type public.review_item as (
  packet_id uuid, kind text, title text, content text, is_truncated boolean, fields jsonb, scope text, project_id text,
  branch text, tags text[], creator text, source text, agent text, tool_name text, speaker text, "timestamp" timestamptz,
  created_at timestamptz, updated_at timestamptz, duplicates public.review_duplicate[],
  contradictions public.review_contradiction[], rejected_before public.review_rejection[]);
comment on type public.review_item is 'A memory that waits for a review.';
comment on column public.review_item.packet_id is 'The memory.';
comment on column public.review_item.kind is 'Its kind.';
comment on column public.review_item.title is 'Its title, if its kind has one.';
comment on column public.review_item.content is 'Its text, at most 8000 characters of it.';
comment on column public.review_item.is_truncated is 'True if the text is longer; get_memory returns all of it.';
comment on column public.review_item.fields is 'The fields of its kind; null if they are larger than 16 KiB.';
comment on column public.review_item.scope is 'Who can see it once it is approved.';
comment on column public.review_item.project_id is 'Its project.';
comment on column public.review_item.branch is 'Its branch; null: every branch.';
comment on column public.review_item.tags is 'Its labels.';
comment on column public.review_item.creator is 'The agent that wrote it.';
comment on column public.review_item.source is 'The source of that agent.';
comment on column public.review_item.agent is 'The name that the agent goes by.';
comment on column public.review_item.tool_name is 'The tool or mutation that saved it.';
comment on column public.review_item.speaker is 'Who said it.';
comment on column public.review_item."timestamp" is 'When it happened.';
comment on column public.review_item.created_at is 'When it was saved.';
comment on column public.review_item.updated_at is 'When it was last changed: its version. Pass it as expected_version.';
comment on column public.review_item.duplicates is 'Memories that count and say nearly the same, most similar first.';
comment on column public.review_item.contradictions is 'Facts that hold and that its approval would contradict.';
comment on column public.review_item.rejected_before is 'Memories of the same text that were rejected, the last first.';

create type public.review_page as (items public.review_item[], waiting integer, next_cursor text);
comment on type public.review_page is 'A part of the queue of a reviewer.';
comment on column public.review_page.items is 'What waits, oldest first.';
comment on column public.review_page.waiting is 'How many memories wait that meet the filters; 1000 stands for 1000 or more.';
comment on column public.review_page.next_cursor is 'Give it as cursor to read on; null: there are no more.';

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
    perform identity.raise_error('L9VAL', 'k: from 1 to 100', 'k');
  elsif identity.given_text(review_queue.cursor) is not null and after is null then
    perform identity.raise_error('L9VAL', 'cursor: must be the next_cursor of an earlier answer', 'cursor');
  end if;
  select count(*)::integer into page.waiting
  from (
    select from public.packet_store p
    where p.tenant_id = me.tenant_id and p.review_state = 'pending' and p.part_of is null
      and (only_scope is null or p.scope = only_scope) and (only_project is null or p.project_id = only_project)
      and (only_creator is null or p.metadata ->> 'creator' = only_creator)
      and (only_kinds is null or p.packet_type = any (only_kinds))
    limit 1000) w;
  found_ids := array(
    select p.packet_id from public.packet_store p
    where p.tenant_id = me.tenant_id and p.review_state = 'pending' and p.part_of is null
      and (after is null or p.packet_id > after)
      and (only_scope is null or p.scope = only_scope) and (only_project is null or p.project_id = only_project)
      and (only_creator is null or p.metadata ->> 'creator' = only_creator)
      and (only_kinds is null or p.packet_type = any (only_kinds))
    order by p.packet_id limit k + 1);
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
