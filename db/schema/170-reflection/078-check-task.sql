create function reflection.check_texts(texts text[], field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if cardinality(texts) > 64 then
    perform identity.raise_error('L9LIM', format('%s: at most 64, got %s', field, cardinality(texts)), field);
  elsif exists (select from unnest(texts) as t (text) where octet_length(t.text) > 8192) then
    perform identity.raise_error('L9LIM', format('%s: at most 8192 bytes each', field), field);
  elsif exists (select from unnest(texts) as t (text) where coalesce(t.text, '') !~ '\S') then
    perform identity.raise_error('L9VAL', format('%s: texts, none of them blank', field), field);
  end if;
end
$$;

comment on function reflection.check_texts(text[], text) is 'L9LIM or L9VAL, naming the field, unless these are at most 64 texts of at most 8 KiB, none of them blank.';

create function reflection.check_task(
  task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  related_decisions uuid[], execution_time_ms bigint, metrics_improved text[], metrics_degraded text[])
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if task_id is null or task_id !~ '\S' then
    perform identity.raise_error('L9VAL', 'task_id: required', 'task_id');
  elsif description is null or description !~ '\S' then
    perform identity.raise_error('L9VAL', 'description: required', 'description');
  elsif execution_time_ms < 0 then
    perform identity.raise_error('L9VAL', 'execution_time_ms: 0 or more', 'execution_time_ms');
  elsif cardinality(related_decisions) > 64 then
    perform identity.raise_error(
      'L9LIM', format('related_decisions: at most 64, got %s', cardinality(related_decisions)), 'related_decisions');
  end if;
  perform identity.check_bytes(task_id, 200, 'task_id'), identity.check_bytes(description, 65536, 'description');
  perform reflection.check_choice(outcome, '{success,partial,failure,unknown}', 'outcome');
  perform reflection.check_texts(what_worked, 'what_worked');
  perform reflection.check_texts(what_failed, 'what_failed');
  perform reflection.check_texts(recommendations, 'recommendations');
  perform reflection.check_texts(metrics_improved, 'metrics_improved');
  perform reflection.check_texts(metrics_degraded, 'metrics_degraded');
end
$$;

comment on function reflection.check_task(text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]) is
  'L9VAL or L9LIM, naming the field, for what a reflection on a task can''t have.';

create function reflection.task_text(
  task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  metrics_improved text[], metrics_degraded text[])
returns text
language sql
immutable
parallel safe
set search_path = ''
return (
  select pg_catalog.concat_ws(e'\n', pg_catalog.format('Task %s: %s', task_id, description), 'Outcome: ' || outcome, pg_catalog.string_agg(
    part.title || e':\n- ' || pg_catalog.array_to_string(part.texts, e'\n- '), e'\n' order by part.place))
  from (values
    (1, 'What worked', what_worked), (2, 'What failed', what_failed), (3, 'Recommendations', recommendations),
    (4, 'Improved', metrics_improved), (5, 'Degraded', metrics_degraded)
  ) as part (place, title, texts)
  where pg_catalog.cardinality(part.texts) > 0);

comment on function reflection.task_text(text, text, text, text[], text[], text[], text[], text[]) is
  'What came of a task, in words: the text of its memory. Its lessons are memories of their own.';

grant execute on function
  reflection.check_texts(text[], text),
  reflection.check_task(text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]),
  reflection.task_text(text, text, text, text[], text[], text[], text[], text[])
to l9_agent, l9_admin, l9_worker;
