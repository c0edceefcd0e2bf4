-- Cuts a Markdown into sections. Documents are stored so, through cut_again() and store_body().
create function documents.parts_of_line(line text) returns table (part integer, text text)
language sql immutable parallel safe set search_path = ''
begin atomic
  -- In two steps, because finding the n-th character takes n steps.
  with measures as materialized (
    select greatest(1, documents.max_section_bytes()::bigint * length(line) / octet_length(line))::integer as short
  ), stretches as materialized (
    select a.start, m.short, substr(line, a.start, 64 * m.short) as text
    from measures m
    cross join lateral generate_series(1, length(line), 64 * m.short) as a (start)
  )
  select (row_number() over (order by l.start, s.start))::integer, substr(l.text, s.start, l.short)
  from stretches l
  cross join lateral generate_series(1, length(l.text), l.short) as s (start)
  order by l.start, s.start;
end;
comment on function documents.parts_of_line is 'A line of more than max_section_bytes() in parts of about that size.';

-- Adds line after line to a piece. Once the next line would make it too long, it ends at the last border between paragraphs.
create function documents.cut(body_md text, open_fence text default null) returns text[]
language plpgsql immutable parallel safe set search_path = ''
-- A text has any number of lines, of which the planner knows nothing.
set enable_nestloop = off as $$
declare
  least constant integer := documents.min_section_bytes();
  most constant integer := documents.max_section_bytes();
  is_fenced boolean := coalesce(open_fence, '') <> '';
  pieces text[] := '{}';
  -- The piece so far: up to the last border between paragraphs, and what follows that.
  paragraphs text := '';
  rest text := '';
  may_end boolean := false;
  atom record;
begin
  -- An atom may be cut itself; is_end says that a paragraph ends with it.
  for atom in
    select p.part, p.text, a.is_followed_by_blanks as is_end, m.level is not null as is_heading, m.fence
    from documents.atoms(body_md) a
    left join documents.find_marks(body_md, open_fence) m on m.line = a.line
    cross join lateral (
      select 1 as part, a.text where octet_length(a.text) <= most
      union all
      -- White space is never cut off, so all of it after the line is one part.
      select d.part, d.text
      from (select substring(a.text from '^.*\S') as line) l
      cross join lateral (
        select c.part, c.text from documents.parts_of_line(l.line) c
        union all
        -- After all parts of the line.
        select 2000000000, substr(a.text, coalesce(length(l.line), 0) + 1)) d
      where octet_length(a.text) > most and d.text <> '') p
    order by a.line, p.part
  loop
    if atom.part = 1 and atom.is_heading and octet_length(paragraphs) + octet_length(rest) >= least
        and paragraphs || rest ~ '\S' then
      pieces := pieces || (paragraphs || rest);
      paragraphs := '';
      rest := '';
    elsif atom.part = 1 and (atom.is_heading or may_end) then
      paragraphs := paragraphs || rest;
      rest := '';
    end if;
    if octet_length(paragraphs) + octet_length(rest) + octet_length(atom.text) > most and atom.text ~ '\S' then
      if paragraphs ~ '\S' and (octet_length(paragraphs) >= least or rest = '') then
        pieces := pieces || paragraphs;
        paragraphs := '';
      end if;
      if octet_length(paragraphs) + octet_length(rest) + octet_length(atom.text) > most and paragraphs || rest ~ '\S' then
        pieces := pieces || (paragraphs || rest);
        paragraphs := '';
        rest := '';
      end if;
    end if;
    rest := rest || atom.text;
    is_fenced := case when atom.fence is null then is_fenced else atom.fence <> '' end;
    -- A heading stays with the paragraph below it.
    may_end := atom.is_end and not is_fenced and not atom.is_heading;
  end loop;
  rest := paragraphs || rest;
  if pieces = '{}' or rest ~ '\S' and (
      octet_length(rest) >= least or octet_length(pieces[cardinality(pieces)]) + octet_length(rest) > most) then
    return pieces || rest;
  end if;
  pieces[cardinality(pieces)] := pieces[cardinality(pieces)] || rest;
  return pieces;
end $$;
comment on function documents.cut is 'The pieces of a Markdown in order, which joined are the same text: cut at headings outside '
  'fenced code, where at least min_section_bytes() precede; a piece of more than max_section_bytes() is cut between paragraphs, '
  'else between lines, else between characters. No piece is blank, unless all is. open_fence: as in find_marks().';

create function documents.with_headings(pieces text[], title text)
returns table (n integer, heading text, level integer, body_md text)
language sql immutable parallel safe set search_path = '' set enable_nestloop = off
begin atomic
  with marks as materialized (
    select m.line, m.level, m.heading from documents.find_marks(array_to_string(pieces, '')) m where m.level is not null
  ), placed as materialized (
    -- The line of its first text: after all lines of the pieces before it and its own blank ones.
    select p.n::integer, p.text, 1 + length(blank.lines) - length(replace(blank.lines, E'\n', ''))
        + coalesce(sum(length(p.text) - length(replace(p.text, E'\n', '')))
          over (order by p.n rows between unbounded preceding and 1 preceding), 0) as line
    from unnest(pieces) with ordinality as p (text, n)
    cross join lateral (select substring(p.text from '^\s*') as lines) as blank
  ), in_order as (
    select p.n, p.text, p.line, null::integer as mark from placed p
    union all
    select null, null, m.line, m.line from marks m
  ), under as (
    select o.n, o.text, max(o.mark) over (order by o.line, o.n nulls first) as mark from in_order o
  )
  select u.n, coalesce(m.heading, with_headings.title), coalesce(m.level, 0), u.text
  from under u
  left join marks m on m.line = u.mark
  where u.n is not null order by u.n;
end;
comment on function documents.with_headings is 'Pieces with the heading that each begins with or stands under, or the title.';

grant execute on function documents.parts_of_line, documents.cut, documents.with_headings to l9_agent, l9_admin;
