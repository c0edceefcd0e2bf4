--! Previous: sha1:693c3cd5b11afa724e244a8fb09be383479689fb
--! Hash: sha1:09dde1b5e92d256e47df53d3e35bc5de8fc218d1
--! Message: a misspelled word is corrected sooner

--! split: 1-current.sql
-- A word that nobody wrote is compared with known words in a fifth of the time.
create or replace function find.correction_of(word text, known text[]) returns text
language sql stable parallel safe set search_path = ''
begin atomic
  select m.candidate
  from (select words.fold(word) as written offset 0) w
  cross join lateral (
    select k.candidate, case when pg_catalog.octet_length(k.candidate) = pg_catalog.length(k.candidate)
      then pg_catalog.lower(k.candidate collate "C") else words.fold(k.candidate) end as plain
    from pg_catalog.unnest(known) as k (candidate)
    where pg_catalog.abs(pg_catalog.length(k.candidate) - pg_catalog.length(word)) <= 4 offset 0
  ) c
  cross join lateral (
    -- A cheap look at the first letters leaves out most candidates: one slip changes them only by swapping the first two.
    select c.candidate, case when pg_catalog.left(c.plain, 1) = pg_catalog.left(w.written, 1)
        or pg_catalog.left(c.plain, 2) = pg_catalog.reverse(pg_catalog.left(w.written, 2))
      then find.is_one_slip(w.written, c.plain) else false end as is_one_slip offset 0
  ) m
  cross join lateral (
    -- A short word resembles many others.
    select case when m.is_one_slip or pg_catalog.length(word) >= 8 then extensions.similarity(c.plain, w.written) end
      as similarity offset 0
  ) s
  where m.is_one_slip or s.similarity >= 0.4
  order by m.is_one_slip desc, s.similarity desc, m.candidate collate "C" limit 1;
end;
