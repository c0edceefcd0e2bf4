-- What a chat model extracted and what waits for a review, as a memory of kind extraction. store_extraction() saves it, and the
-- trigger of an approval asserts it.
create table extraction.proposals (
  packet_id uuid primary key references public.packet_store on delete cascade,
  source_packet uuid not null references public.packet_store on delete cascade
);
create index proposals_source_idx on extraction.proposals (source_packet);
call identity.describe('extraction.proposals', 'Memories of kind extraction, which go when the memory that was read is deleted or
    changes.
  packet_id: The memory of kind extraction.
  source_packet: The memory that the model read.');
call identity.keep_private('extraction.proposals',
  functions => 'store_extraction() writes rows, and the trigger of an approval reads them.');

create function extraction.tg_proposals__delete_packets() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform derived.delete_memories(array(select o.packet_id from old_rows o));
  return null;
end $$;
comment on function extraction.tg_proposals__delete_packets is 'Deletes what was extracted from a memory that is deleted or has '
  'another text. Definer: deletes memories that the caller does not see.';
create trigger _600_delete_packets after delete on extraction.proposals referencing old table as old_rows
  for each statement execute function extraction.tg_proposals__delete_packets();

-- One line for each item, as a reviewer reads it.
create function extraction.proposal_text(extraction jsonb) returns text
language sql stable parallel safe set search_path = ''
return (
  select string_agg(l.line, e'\n' order by l.line)
  from (
    select format('%s is a %s', e.item ->> 'name', e.item ->> 'type') as line
    from extraction.extracted_items(extraction, 'entities', '{name,type}') e where e.is_fit
    union all
    select format('%s %s: %s', f.item ->> 'subject', f.item ->> 'predicate', f.item ->> 'object')
    from extraction.extracted_items(extraction, 'facts', '{subject,predicate,object}') f where f.is_fit
    union all
    select format('%s %s %s', r.item ->> 'source', r.item ->> 'type', r.item ->> 'target')
    from extraction.extracted_items(extraction, 'relations', '{source,type,target}') r where r.is_fit
  ) l);
comment on function extraction.proposal_text is 'The items of an answer that could be stored, one a line; null if there are '
  'none.';

create function extraction.propose(source public.packet_store, extraction jsonb, model text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  content constant text := extraction.proposal_text(extraction);
  -- Functions of the owner do not see what waits, so that the insert could not return it.
  id constant uuid := uuidv7();
begin
  if content is null then
    return;
  end if;
  insert into public.packet_store (
    packet_id, packet_type, envelope, metadata, parent_ids, ttl, project_id, branch, scope, tenant_id, org_id, user_id,
    "timestamp", created_at, updated_at)
  values (
    id, 'extraction', jsonb_build_object('content', content, 'on_approval', jsonb_build_object('statement', 'extract',
      'arguments', jsonb_build_object('extraction', extraction, 'model', model))),
    jsonb_build_object('creator', 'job', 'source', 'l9-memory', 'agent', 'job', 'model', model), array[source.packet_id],
    source.ttl, source.project_id, source.branch, source.scope, source.tenant_id, source.org_id, source.user_id,
    source."timestamp", clock_timestamp(), clock_timestamp())
  on conflict do nothing;
  if found then
    insert into extraction.proposals (packet_id, source_packet) values (id, source.packet_id);
  end if;
exception when sqlstate 'L9SEC' or sqlstate 'L9VAL' or sqlstate 'L9LIM' then
  null; -- A model's answer with a secret, or one that was rejected before, is dropped.
end $$;
comment on function extraction.propose is 'Saves what was extracted from a memory as a memory that waits for a review. Not '
  'executable by callers.';

-- The facts come from the memory that was read, and follow its text. What was approved is no memory for searches.
create function extraction.source_of_proposal(packet_id uuid) returns public.packet_store
language plpgsql stable set search_path = '' as $$
declare
  source public.packet_store;
begin
  select p.* into source
  from extraction.proposals d join public.packet_store p on p.packet_id = d.source_packet
  where d.packet_id = source_of_proposal.packet_id;
  if not found then
    perform identity.raise_error('L9VAL',
      'envelope.on_approval.statement: extract is for what a job extracted from a memory that counts', 'envelope.on_approval');
  end if;
  return source;
end $$;
comment on function extraction.source_of_proposal is 'The memory that a model read; L9VAL if there is none. Not executable by '
  'callers.';
