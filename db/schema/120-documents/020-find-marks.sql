-- Reads the headings and fences of a Markdown. The functions that cut a document call find_marks(), and
-- memory_store() calls title_of().
create function documents.atoms(body_md text) returns table (line integer, text text, is_followed_by_blanks boolean)
language sql immutable parallel safe set search_path = ''
begin atomic
  -- Blank lines go with the line before them; a regular expression over the whole text would take several times as long.
  with lines as (
    select l.n, l.text, count(*) filter (where l.text ~ '\S') over (order by l.n) as atom, count(*) over () as many
    from string_to_table(body_md, E'\n') with ordinality as l (text, n)
  ), joined as (
    select min(l.n)::integer as line, l.atom,
      string_agg(l.text, E'\n' order by l.n) || case when max(l.n) < min(l.many) then E'\n' else '' end as text
    from lines l group by l.atom
  )
  select j.line, j.text, j.atom = 0 or strpos(j.text, E'\n') between 1 and length(j.text) - 1
  from joined j
  where j.text <> '' order by j.line;
end;
comment on function documents.atoms is 'The lines of a Markdown that have a text, in order, each with its line end and the blank '
  'lines after it, and before them the blank lines at its beginning. Joined they are the same text. Lines count from 1.';

create function documents.end_of_fence(fence text) returns text language sql immutable parallel safe set search_path = ''
return case fence
  when '---' then '^(---|\.\.\.)[ \t\r]*$'
  when '+++' then '^\+\+\+[ \t\r]*$'
  when '<!--' then '-->'
  else pg_catalog.format('^ {0,3}[%s]{%s,}[ \t\r]*$', pg_catalog.left(fence, 1), pg_catalog.length(fence)) end;
comment on function documents.end_of_fence is 'An expression for the end of front matter, a comment, or a fence.';

-- Looks only at lines that can be a mark, in order, and remembers which fence is open.
create function documents.find_marks(body_md text, open_fence text default null)
returns table (line integer, level integer, heading text, fence text)
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- --- (YAML) or +++ (TOML), so that the fields at the start of a file are no headings, as in a fence.
  front_matter constant text := case when open_fence is null then
    substring(body_md from E'^\uFEFF?(---|\\+\\+\\+)[ \\t\\r]*\n[ \\t]*[^ \\t\\r\n]') end;
  has_front_matter constant boolean := front_matter is not null and exists (
    select from string_to_table(left(body_md, 20000), E'\n') with ordinality as l (text, n)
    where l.n > 1 and l.text ~ documents.end_of_fence(front_matter));
  candidate record;
  opening text[];
begin
  open_fence := nullif(open_fence, '');
  -- Only lines that can be a mark are looked at one by one.
  for candidate in
    select l.n, l.text, l.previous, l.before_that
    from (
      select c.n::integer, c.text, lag(c.text) over lines as previous, lag(c.text, 2, '') over lines as before_that
      -- A byte order mark is no part of the first line.
      from string_to_table(ltrim(body_md, E'\uFEFF'), E'\n') with ordinality as c (text, n)
      window lines as (order by c.n)) l
    where l.text ~ '^( {0,3}(#{1,6}([ \t\r]|$)|`{3}|~{3}|(=+|-+)[ \t\r]*$|<!--)|(\.\.\.|\+\+\+)[ \t\r]*$)|-->'
    order by l.n
  loop
    line := candidate.n;
    level := null;
    heading := null;
    fence := null;
    if open_fence is not null then
      if candidate.text ~ documents.end_of_fence(open_fence) then
        open_fence := null;
        fence := '';
        return next;
      end if;
      continue;
    end if;
    opening := regexp_match(candidate.text, '^ {0,3}(`{3,}|~{3,})([^`]*)$');
    if opening is null then
      opening := regexp_match(candidate.text, '^ {0,3}(~{3,})');
    end if;
    if has_front_matter and candidate.n = 1 then
      opening := array[front_matter];
    elsif candidate.text ~ '^ {0,3}<!--(?!.*-->)' then
      opening := array['<!--'];
    end if;
    if opening is not null then
      open_fence := opening[1];
      fence := open_fence;
      return next;
    elsif candidate.text ~ '^ {0,3}#' then
      level := length((regexp_match(candidate.text, '^ *(#+)'))[1]);
      heading := regexp_replace(regexp_replace(candidate.text, '^ *#+', ''), '(^|[ \t])#*[ \t\r]*$', '');
    -- A paragraph of one line above = or -: longer ones are nearly always a paragraph above a rule.
    elsif candidate.text ~ '^ {0,3}[-=]' and candidate.previous ~ '\S' and candidate.before_that !~ '\S'
      and candidate.previous !~ '^(    | {0,3}(\t|[>#|<]|[-*+][ \t]|[0-9]+[.)][ \t]|`{3}|~{3}|([-*_][ \t]*){3,}\r?$)'
        '|.*-->[ \t\r]*$)' then
      line := candidate.n - 1;
      level := case when candidate.text ~ '=' then 1 else 2 end;
      heading := candidate.previous;
    end if;
    if level is not null then
      heading := nullif(btrim(left(btrim(heading, E' \t\r'), 500), E' \t\r'), '');
      return next;
    end if;
  end loop;
end $$;
comment on function documents.find_marks is 'The one reader of headings: those of a Markdown outside fenced code, front matter '
  'and comments of HTML (level 1 to 6; the heading is null if it has no text), and the lines where a fence opens (fence is the '
  'fence) or closes (fence is empty). Lines count from 1. open_fence: the fence that is open before the first line, empty if '
  'none is; null at the start of a document, where front matter may stand.';

create function documents.title_of(body_md text, source_url text) returns text
language sql immutable parallel safe set search_path = ''
return coalesce(
  (select m.heading from documents.find_marks(body_md) m where m.heading is not null order by m.line limit 1),
  nullif(btrim(left(btrim(substring(source_url from '([^/]*)/*$')), 500)), ''));
comment on function documents.title_of is 'A document''s title: its first heading, or its path''s end; null for neither.';
grant execute on function documents.atoms, documents.end_of_fence, documents.find_marks, documents.title_of to l9_agent, l9_admin;
