-- The words of a date, so that a query for a day or month finds a memory. of_memory() and the trigger that sets
-- packet_store.words call date_words().
create function words.date_words(event_time timestamptz) returns tsvector
language sql immutable parallel safe strict set search_path = ''
return case when pg_catalog.isfinite(event_time) then (
  select pg_catalog.array_to_tsvector(array[
    date.year::text, date.day::text, month.name, (pg_catalog.ts_lexize('pg_catalog.english_stem', month.name))[1],
    (array['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'])[date.weekday],
    date.year || '-' || pg_catalog.lpad(date.month::text, 2, '0') || '-' || pg_catalog.lpad(date.day::text, 2, '0')])
  from (
    -- to_char() depends on settings, so it may not be used in an immutable function.
    select
      extract(year from event_time at time zone 'UTC')::integer as year,
      extract(month from event_time at time zone 'UTC')::integer as month,
      extract(day from event_time at time zone 'UTC')::integer as day,
      extract(isodow from event_time at time zone 'UTC')::integer as weekday
  ) date
  cross join lateral (
    select (array[
      'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'])
      [date.month] as name
  ) month)
end;
comment on function words.date_words is 'Year, month, day, weekday and date of a time in UTC, so that a query for "Friday", "May '
  '2023" or "2023-05-12" finds it. They have no positions, so each counts as occurring once. Null if the time is infinite.';
grant execute on function words.date_words to l9_agent, l9_admin, l9_platform_admin, l9_worker;
