-- Plans which sections a document has after its text changed, so that an edit touches few of them. store_body() calls
-- these functions.
create type documents.present_section as (place integer, packet_id uuid, body_md text, "position" numeric);
comment on type documents.present_section is 'A section as it is stored. place: its number in the order of the document, from 1.';

create type documents.wanted_section as (n integer, heading text, level integer, body_md text, place integer, "position" numeric);
comment on type documents.wanted_section is 'A section to be: n, its place in the new order; place, that of the one it replaces.';

create function documents.sections_of(document_id uuid) returns setof public.packet_store language sql stable set search_path = ''
begin atomic
  select p.*
  from public.packet_store p
  where p.part_of = sections_of.document_id and p.packet_type = 'section'
  order by (p.envelope ->> 'position')::numeric, p.packet_id;
end;
comment on function documents.sections_of is 'The sections of a document that the caller can see, in order.';

create function documents.cut_next(middle text, fence text, most integer) returns text[]
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- One more than is written, which tells that the text goes on, and the last two, where the end of the stretch could move a cut.
  wanted constant integer := most + 1 + 2;
  -- Never so short that the end of front matter could be missed.
  stretch constant text := substring(left(middle, greatest(65536, wanted * documents.max_section_bytes())) from '^(?:.*\n)?');
  pieces text[];
begin
  if stretch <> '' and length(stretch) < length(middle) then
    pieces := documents.cut(stretch, fence);
    if cardinality(pieces) >= wanted then
      return pieces[:most + 1];
    end if;
  end if;
  return documents.cut(middle, fence);
end $$;
comment on function documents.cut_next is 'The first pieces of a text that follows: one more than these, or all.';

-- Keeps the sections that are the same at both ends, cuts only the text between them, and pairs sections of equal text.
create function documents.cut_again(
  markdown text, title text, present documents.present_section[], most_more integer default null)
returns documents.wanted_section[]
language plpgsql stable set search_path = ''
-- A document has up to thousands of sections, of which the planner knows nothing.
set enable_nestloop = off as $$
declare
  tenant_id constant uuid := identity.current_tenant_id();
  bytes constant bytea := convert_to(markdown, 'UTF8');
  total constant integer := octet_length(bytes);
  many constant integer := coalesce(cardinality(present), 0);
  bodies constant text[] := array(select p.body_md from unnest(present) as p order by p.place);
  kept_first integer;
  kept_last integer;
  first_bytes integer;
  last_bytes integer;
  middle text;
  fence text;
  pieces text[] := '{}';
begin
  -- Sections at the beginning and at the end whose text did not change are kept, so that an edit moves no other cut.
  with old as (
    select b.place::integer, convert_to(b.body, 'UTF8') as body,
      sum(octet_length(b.body)) over (order by b.place)::integer as upto
    from unnest(bodies) with ordinality as b (body, place)
  )
  select coalesce(min(o.place) - 1, many) into kept_first from old o
  where substring(bytes from o.upto - octet_length(o.body) + 1 for octet_length(o.body)) <> o.body;
  first_bytes := coalesce((select sum(octet_length(b)) from unnest(bodies[:kept_first]) as b), 0);
  with old as (
    select b.place::integer, convert_to(b.body, 'UTF8') as body,
      sum(octet_length(b.body)) over (order by b.place desc)::integer as from_end
    from unnest(bodies) with ordinality as b (body, place)
  )
  select many - coalesce(max(o.place), 0) into kept_last from old o
  where o.place <= kept_first or o.from_end > total - first_bytes
    or substring(bytes from total - o.from_end + 1 for octet_length(o.body)) <> o.body;

  loop
    first_bytes := coalesce((select sum(octet_length(b)) from unnest(bodies[:kept_first]) as b), 0);
    last_bytes := coalesce((select sum(octet_length(b)) from unnest(bodies[many - kept_last + 1:]) as b), 0);
    middle := convert_from(substring(bytes from first_bytes + 1 for total - first_bytes - last_bytes), 'UTF8');
    -- If a short text was only inserted, it is cut together with a neighbouring section.
    exit when coalesce(middle, '') = '' or kept_first + kept_last <= 0
      or middle ~ '\S' and (octet_length(middle) >= documents.min_section_bytes() or kept_first + kept_last < many);
    if kept_first > 0 then
      kept_first := kept_first - 1;
    else
      kept_last := kept_last - 1;
    end if;
  end loop;

  if middle <> '' then
    if kept_first > 0 then
      fence := coalesce((
        select m.fence from documents.find_marks(array_to_string(bodies[:kept_first], '')) m
        where m.fence is not null order by m.line desc limit 1), '');
    end if;
    -- A call that goes on with a text whose beginning is stored needs no more of it than it writes.
    pieces := case when most_more is not null and kept_first = many then documents.cut_next(middle, fence, most_more)
      else documents.cut(middle, fence) end;
  end if;
  return array(
    with wanted as (
      select h.n, secrets.as_stored(h.heading, tenant_id) as heading, h.level,
        h.n > kept_first and h.n <= kept_first + cardinality(pieces) as is_cut, secrets.as_stored(h.body_md, tenant_id) as body
      from documents.with_headings(bodies[:kept_first] || pieces || bodies[many - kept_last + 1:], title) h
    ), new_ones as (
      select w.n, w.body, row_number() over (partition by w.body order by w.n) as nth from wanted w where w.is_cut
    ), old_ones as (
      select b.place::integer, b.body, row_number() over (partition by b.body order by b.place) as nth
      from unnest(bodies) with ordinality as b (body, place)
      where b.place > kept_first and b.place <= many - kept_last
    )
    select row(w.n, w.heading, w.level, w.body, case
      when w.is_cut then o.place
      when w.n <= kept_first then w.n
      else w.n - cardinality(pieces) + many - kept_last - kept_first end, null)::documents.wanted_section
    from wanted w
    left join new_ones n on n.n = w.n
    left join old_ones o on (o.body, o.nth) = (n.body, n.nth)
    order by w.n);
end $$;
comment on function documents.cut_again is 'The sections that a document has with a new text. Sections at its beginning and end '
  'whose text did not change are kept; the text between them is cut anew, and a section of that part whose text existed before '
  'takes its place. most_more: where all present sections are kept and more follow, one more than so many of these are enough.';

-- Sections in the longest rise keep their positions; the others get numbers between those of their neighbours.
create function documents.place_sections(wanted documents.wanted_section[], present documents.present_section[])
returns documents.wanted_section[]
language plpgsql stable set search_path = ''
-- A document has up to thousands of sections, of which the planner knows nothing.
set enable_nestloop = off as $$
declare
  in_order constant integer[] := documents.longest_rise(
    array(select w.place from unnest(wanted) as w where w.place is not null order by w.n));
  placed documents.wanted_section[];
begin
  placed := array(
    with fixed as (
      select w.n, w.place, count(w.place) over (order by w.n) as gap
      from (select u.n, case when u.place = any (in_order) then u.place end as place from unnest(wanted) as u) w
    ), new_ones as (
      -- Sections with a new text: each replaces one whose text is gone between the same two neighbours.
      select f.n, f.gap, row_number() over (partition by f.gap order by f.n) as nth
      from fixed f join unnest(wanted) as w on w.n = f.n
      where w.place is null
    ), old_ones as (
      select p.place, p.gap, row_number() over (partition by p.gap order by p.place) as nth
      from (
        select o.place, w.place is not null as is_taken, count(f.place) over (order by o.place) as gap
        from unnest(present) as o
        left join unnest(wanted) as w on w.place = o.place
        left join fixed f on f.place = o.place) p
      where not p.is_taken
    ), taken as (
      select w.n, w.heading, w.level, w.body_md, coalesce(w.place, o.place) as place,
        case when f.place is not null or w.place is null then p."position" end as "position"
      from unnest(wanted) as w
      join fixed f on f.n = w.n
      left join new_ones n on n.n = w.n
      left join old_ones o on (o.gap, o.nth) = (n.gap, n.nth)
      left join unnest(present) as p on p.place = coalesce(w.place, o.place)
    ), neighbours as (
      select t.*, max(t."position") over before as "from",
        max(case when t."position" is not null then t.n end) over before as from_n,
        min(t."position") over after as upto, min(case when t."position" is not null then t.n end) over after as upto_n
      from taken t
      window before as (order by t.n), after as (order by t.n desc)
    )
    select row(b.n, b.heading, b.level, b.body_md, b.place, coalesce(b."position", case
      when b.upto_n is null then coalesce(b."from", 0) + b.n - coalesce(b.from_n, 0)
      else round(coalesce(b."from", 0) + (b.upto - coalesce(b."from", 0))
        * (b.n - coalesce(b.from_n, 0)) / (b.upto_n - coalesce(b.from_n, 0)), 9) end)
    )::documents.wanted_section
    from neighbours b order by b.n);
  -- A position has nine decimals, so that after about thirty insertions at one point no number is left between two neighbours.
  if exists (
    select from (select p."position", lag(p."position", 1, 0) over (order by p.n) as previous from unnest(placed) as p) s
    where s."position" <= s.previous) then
    placed := array(
      select row(p.n, p.heading, p.level, p.body_md, p.place, p.n)::documents.wanted_section from unnest(placed) as p
      order by p.n);
  end if;
  return placed;
end $$;
comment on function documents.place_sections is 'Gives each section its position. A section with a new text replaces one whose '
  'text is gone between the same two neighbours. Sections that stay in order keep their positions, unless no number is left '
  'between two of them; then all are numbered anew.';
grant execute on function documents.sections_of, documents.cut_next, documents.cut_again, documents.place_sections to l9_agent,
  l9_admin, l9_platform_admin;
