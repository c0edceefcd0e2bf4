create table public.knowledge_facts (
  fact_id uuid primary key default uuidv7(),
  subject text not null,
  predicate text not null,
  object jsonb not null,
  confidence double precision not null,
  -- A key to its evidence (030), which has the key to the memory: to check one to the memory would be to wait for whoever is
  -- deleting that, while he waits to settle this.
  source_packet uuid not null,
  subject_normalized text not null,
  object_normalized text not null,
  is_single_valued boolean not null default false,
  supporting_packet_count integer not null default 1,
  contradiction_count integer not null default 0,
  access_count bigint not null default 0,
  valid_from timestamptz not null,
  valid_to timestamptz,
  recorded_at timestamptz not null,
  superseded_by uuid,
  superseded_at timestamptz,
  retracted_at timestamptz,
  retraction_reason text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  audience_id uuid not null,
  unique (fact_id, audience_id),
  -- With the room: it never points to what other callers see.
  constraint knowledge_facts_superseded_by_fkey foreign key (superseded_by, audience_id) references public.knowledge_facts (fact_id, audience_id)
    on delete set null (superseded_by),
  constraint fact_names_not_blank check (subject_normalized <> '' and predicate <> '' and object_normalized <> ''),
  constraint fact_predicate_normalised check (predicate = entities.normalise_name(predicate)),
  constraint fact_confidence_between_0_and_099 check (confidence between 0 and 0.99),
  constraint fact_counts_not_negative check (supporting_packet_count > 0 and contradiction_count >= 0 and access_count >= 0),
  constraint fact_ends_after_it_begins check (valid_to >= valid_from),
  constraint fact_retraction_has_time check (retraction_reason is null or retracted_at is not null),
  constraint fact_retraction_reason_at_most_1000_bytes check (octet_length(retraction_reason) <= 1000)
) with (
  -- So that counting accesses is HOT: no index has that column.
  fillfactor = 80
);

-- Whatever happens at once, there are never two current values.
create unique index fact_has_one_current_value on public.knowledge_facts (audience_id, subject_normalized, predicate)
  where is_single_valued and valid_to is null and retracted_at is null;
create unique index fact_is_current_once
  on public.knowledge_facts (audience_id, subject_normalized, predicate, packets.content_hash(object_normalized))
  where valid_to is null and retracted_at is null;
create index knowledge_facts_history_idx on public.knowledge_facts (audience_id, subject_normalized, predicate, valid_from);
create index knowledge_facts_subject_idx on public.knowledge_facts (tenant_id, subject_normalized, predicate);
create index knowledge_facts_predicate_idx on public.knowledge_facts (tenant_id, predicate);
-- By hash: an object may be longer than a page of a btree takes.
create index knowledge_facts_object_idx on public.knowledge_facts using hash (object_normalized);
create index knowledge_facts_source_idx on public.knowledge_facts (source_packet);
create index knowledge_facts_superseded_by_idx on public.knowledge_facts (superseded_by, audience_id);

-- What is erased must not stay in the planner's statistics.
alter table public.knowledge_facts
  alter column subject set statistics 0, alter column predicate set statistics 0, alter column object set statistics 0,
  alter column subject_normalized set statistics 0, alter column object_normalized set statistics 0,
  alter column retraction_reason set statistics 0;

call derived.derive_from_packets('public.knowledge_facts', 'fact_id', 'source_packet', follows => false);

comment on table public.knowledge_facts is
  'What is held to be true: subject, predicate, object. When it was so: valid_from to valid_to. When we held it: from recorded_at, until superseded_at or retracted_at. Worked out of fact_evidence; written by assert_fact() and retract_fact().';
comment on column public.knowledge_facts.fact_id is 'UUID version 7.';
comment on column public.knowledge_facts.subject is 'What it is about, as the first of the memories that say so spells it.';
comment on column public.knowledge_facts.predicate is 'What it says of the subject: in lower case, white space trimmed and collapsed.';
comment on column public.knowledge_facts.object is 'The value: a text, number, truth value, list or object.';
comment on column public.knowledge_facts.confidence is 'From 0 to 0.99: grows with each memory that says so.';
comment on column public.knowledge_facts.source_packet is 'The first of the memories that say so. All of them: fact_evidence.';
comment on column public.knowledge_facts.subject_normalized is 'The subject as it is compared.';
comment on column public.knowledge_facts.object_normalized is 'The object as it is compared.';
comment on column public.knowledge_facts.is_single_valued is 'Whether its predicate is registered as single-valued.';
comment on column public.knowledge_facts.supporting_packet_count is 'How often it was said: once for each memory, and again for each time a caller repeated it without naming one.';
comment on column public.knowledge_facts.contradiction_count is
  'How often what it says superseded, or was superseded by, another value of the subject, up to then.';
comment on column public.knowledge_facts.access_count is 'How often find_facts() gave it out, up to the last roll-up of the access log.';
comment on column public.knowledge_facts.valid_from is 'From when on it was so, at the earliest that is said.';
comment on column public.knowledge_facts.valid_to is 'Until when it was so: when that began which superseded it. Null: it holds, unless it is retracted.';
comment on column public.knowledge_facts.recorded_at is 'When it was first asserted.';
comment on column public.knowledge_facts.superseded_by is 'The fact that took its place; of the same tenant, org, user, project and scope.';
comment on column public.knowledge_facts.superseded_at is 'When that one was recorded.';
comment on column public.knowledge_facts.retracted_at is 'When somebody said that it is not so, and never was.';
comment on column public.knowledge_facts.retraction_reason is 'Why, in their words.';
comment on column public.knowledge_facts.audience_id is 'Tenant, org, user, project and scope as one id.';

create policy worker_counts on public.knowledge_facts for update to l9_worker using (true);
comment on policy worker_counts on public.knowledge_facts is 'The job that rolls up the access log counts; the grant says which column.';
grant update (access_count) on public.knowledge_facts to l9_worker;
-- No other insert, update or delete for anyone.

create function facts.tg_knowledge_facts__audience()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.audience_id := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  return new;
end
$$;

comment on function facts.tg_knowledge_facts__audience() is 'Sets the room.';

create trigger _310_audience before insert or update of tenant_id, org_id, user_id, project_id, scope on public.knowledge_facts
  for each row execute function facts.tg_knowledge_facts__audience();
