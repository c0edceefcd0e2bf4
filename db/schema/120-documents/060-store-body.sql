-- Keeps the Markdown of a document as its sections. memory_store() calls store_body() for each document.
create type documents.section_draft as (packet_id uuid, fields jsonb);
comment on type documents.section_draft is 'The fields that a section should have; without packet_id it is a new one.';

create function documents.raise_not_writer(document_id uuid) returns void
language sql immutable parallel safe set search_path = ''
return identity.raise_error('L9OWN',
  pg_catalog.format('document %s or one of its sections was written by another caller; only its writer or an admin may change it',
    document_id), 'body_md');
comment on function documents.raise_not_writer is 'Raises L9OWN for a document that the caller can see and not change.';

create function documents.writes_left() returns integer language sql stable set search_path = ''
return nullif(pg_catalog.current_setting('l9.writes_left', true), '')::integer;
comment on function documents.writes_left is 'How many sections this transaction may still write; null for all.';

create function documents.is_continued() returns boolean language sql stable set search_path = ''
return pg_catalog.current_setting('l9.is_continued', true) = 'true';
comment on function documents.is_continued is 'True if this call goes on with a text that an earlier one has checked as a whole. '
  'Who says so falsely may find a part of an own document stored before a secret is refused, which the triggers do in any case.';

-- Computes which sections differ from what is stored, and updates or inserts as many of them as this transaction may write.
create function documents.write_sections(
  document public.packet_store, wanted documents.wanted_section[], present documents.present_section[]) returns boolean
language plpgsql volatile set search_path = '' set enable_nestloop = off as $$
declare
  drafts documents.section_draft[];
  expected integer;
  written integer;
  inserted integer;
begin
  -- Sections with the same words, in any case, are told apart by occurrence. A new text takes a number that no stored row
  -- has, because the unique index looks at each row as it is written.
  drafts := array(
    with stored as (
      select p.packet_id, p.content_hash as hash,
        coalesce((p.envelope ->> 'occurrence')::integer, 1) as occurrence
      from public.packet_store p
      where p.part_of = document.packet_id and p.packet_type = 'section'
    ), texts as (
      select w.*, o.packet_id, packets.content_hash(w.body_md) as hash from unnest(wanted) as w left
        join unnest(present) as o on o.place = w.place
    ), needing as (
      select t.n, t.hash, row_number() over (partition by t.hash order by t.n) as nth
      from texts t
      left join stored s on s.packet_id = t.packet_id and s.hash = t.hash
      where s.packet_id is null
    ), free as (
      select c.hash, c.number, row_number() over (partition by c.hash order by c.number) as nth
      from (
        select distinct d.hash, numbers.number
        from (select n.hash, count(*) as many from needing n group by n.hash) d
        cross join lateral generate_series(1, d.many + (select count(*) from stored s where s.hash = d.hash))
          as numbers (number)) c
      left join stored s on s.hash = c.hash and s.occurrence = c.number
      where s.packet_id is null
    )
    select row(t.packet_id, jsonb_build_object('document_id', document.packet_id, 'heading', t.heading, 'level', t.level,
        'position', trim_scale(t."position"), 'body_md', t.body_md, 'occurrence',
        nullif(coalesce(s.occurrence, f.number), 1)))::documents.section_draft
    from texts t
    left join stored s on s.packet_id = t.packet_id and s.hash = t.hash
    left join needing n on n.n = t.n
    left join free f on f.hash = n.hash and f.nth = n.nth
    order by t.n);

  -- A section that has all this already is left alone: no version, no audit row, no vector to compute.
  drafts := array(
    select d from unnest(drafts) as d
    left join public.packet_store p on p.packet_id = d.packet_id and p.part_of = document.packet_id
    where p.packet_id is null or p.tags <> document.tags
      or (p.envelope || d.fields) - 'content' <> ('{"occurrence": null}'::jsonb || p.envelope) - 'content');
  if cardinality(drafts) > documents.writes_left() then
    -- Later transactions store the rest, so that others run between them: a text that they would refuse is refused now.
    perform secrets.check_texts(array(select d.fields ->> 'body_md' from unnest(drafts) as d), 'body_md');
    drafts := drafts[:documents.writes_left()];
    perform set_config('l9.is_unfinished', 'true', true);
  end if;
  perform set_config('l9.writes_left', (documents.writes_left() - cardinality(drafts))::text, true);
  expected := (select count(*) from unnest(drafts) as d where d.packet_id is not null);
  if expected > 0 then
    update public.packet_store p set envelope = p.envelope || d.fields, tags = document.tags
    from unnest(drafts) as d
    where p.packet_id = d.packet_id and p.part_of = document.packet_id;
    get diagnostics written = row_count;
    if written < expected then
      perform documents.raise_not_writer(document.packet_id);
    end if;
  end if;
  insert into public.packet_store (packet_type, envelope, tags, project_id, branch, scope)
  select 'section', d.fields, document.tags, document.project_id, document.branch, document.scope
  from unnest(drafts) with ordinality as d
  where d.packet_id is null order by d.ordinality;
  get diagnostics inserted = row_count;
  return expected + inserted > 0;
end $$;
comment on function documents.write_sections is 'Updates the sections that differ from what is wanted and inserts those that are '
  'not there yet: of all, or of as many as writes_left() says; then l9.is_unfinished is set. True if there are any.';

create function documents.has_body(document public.packet_store, body_md text) returns boolean
language sql stable set search_path = ''
return (
  select string_agg(s.envelope ->> 'body_md', '' order by (s.envelope ->> 'position')::numeric, s.packet_id) = body_md
    and bool_and(s.tags = (document).tags
      and (s.envelope -> 'level' is distinct from '0' or s.envelope ->> 'heading' = (document).title))
  from documents.sections_of((document).packet_id) s);
comment on function documents.has_body is 'True if the sections of a document are those of this Markdown already.';

-- Locks the document, plans the sections of the new text, deletes those that are gone and writes those that differ.
create function documents.store_body(document public.packet_store, body_md text) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  present documents.present_section[];
  wanted documents.wanted_section[];
  vanished uuid[];
  written integer;
  is_written boolean;
  stored public.packet_store;
  rules constant jsonb := kinds.rules_of(document.packet_type, document.tenant_id);
begin
  perform documents.check_body(store_body.body_md);
  -- Who stores again what is there already need not be allowed to change it.
  if documents.has_body(document, store_body.body_md) then
    return false;
  end if;

  -- Under row-level security FOR UPDATE finds only rows that the caller may change. The lock holds back others that store it.
  select p.* into stored from public.packet_store p where p.packet_id = document.packet_id for no key update;
  if not found then
    perform documents.raise_not_writer(document.packet_id);
  elsif kinds.is_met(nullif(rules -> 'locked_when', 'null'), stored.envelope) then
    perform kinds.raise_locked(document.packet_type, rules, 'body_md');
  end if;
  present := array(
    select row(
      row_number() over (order by (s.envelope ->> 'position')::numeric, s.packet_id), s.packet_id, s.envelope ->> 'body_md',
      (s.envelope ->> 'position')::numeric)::documents.present_section
    from documents.sections_of(document.packet_id) s);
  wanted := documents.place_sections(documents.cut_again(store_body.body_md, document.title, present,
    case when documents.is_continued() then documents.writes_left() end), present);

  vanished := array(
    select p.packet_id from unnest(present) as p where not exists (select from unnest(wanted) as w where w.place = p.place));
  if vanished <> '{}' then
    delete from public.packet_store p where p.packet_id = any (vanished);
    get diagnostics written = row_count;
    if written < cardinality(vanished) then
      perform documents.raise_not_writer(document.packet_id);
    end if;
  end if;
  -- In a statement of its own: beside a condition that is known to be true it might not be called.
  begin
    is_written := documents.write_sections(document, wanted, present);
  exception when sqlstate 'L9SEC' then
    -- Found in a section: the writer is told of the place in the text that it gave.
    perform secrets.refuse_in(jsonb_build_object('envelope', jsonb_build_object('body_md', store_body.body_md)));
    raise;
  end;
  return is_written or vanished <> '{}';
end $$;
comment on function documents.store_body is 'Keeps the Markdown of a document as its sections. Only those that differ are '
  'written: an unchanged one stays as it is, a changed one between the same neighbours is updated, others are inserted or '
  'deleted. True if anything was. Errors: L9OWN, L9IMM if the document is approved, L9VAL, L9LIM, L9SEC.';
grant execute on function documents.raise_not_writer, documents.has_body, documents.writes_left, documents.is_continued,
  documents.store_body, documents.write_sections to l9_agent, l9_admin;
