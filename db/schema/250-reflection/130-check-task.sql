-- Checks for the result of a task, the lock of a task, and the text of its memory. reflect_on_task() and
-- store_task_reflection() call these functions, and reflect() takes the lock.
create function reflection.check_texts(texts text[], field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if cardinality(texts) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('%s: at most %s, got %s', field, reflection.max_list_length(), cardinality(texts)));
  elsif exists (select from unnest(texts) as t (text) where octet_length(t.text) > reflection.max_text_bytes()) then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes each', field, reflection.max_text_bytes()));
  elsif exists (select from unnest(texts) as t (text) where identity.is_blank(coalesce(t.text, ''))) then
    perform identity.raise_error('L9VAL', format('%s: no text may be blank', field));
  end if;
end $$;
comment on function reflection.check_texts is 'Raises unless the list has at most 64 texts of 1 byte to 8 KiB each.';

create function reflection.check_metrics(metrics jsonb, field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if metrics is null then
    return;
  elsif jsonb_typeof(metrics) <> 'object' then
    perform identity.raise_error('L9VAL', format('%s: must be an object of names and numbers or texts, such as {"tests": 212}',
      field));
  elsif (select count(*) from jsonb_object_keys(metrics)) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM', format('%s: at most %s metrics', field, reflection.max_list_length()));
  elsif exists (
    select from jsonb_each(metrics) as m (name, value)
    where identity.is_blank(m.name) or octet_length(m.name) > 200 or jsonb_typeof(m.value) not in ('number', 'string')) then
    perform identity.raise_error('L9VAL', format('%s: each metric is a name of at most 200 bytes and a number or a text', field));
  elsif exists (
    select from jsonb_each_text(metrics) as m (name, value) where octet_length(m.value) > reflection.max_text_bytes()) then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes each', field, reflection.max_text_bytes()));
  end if;
  perform identity.check_numbers(metrics, field);
end $$;
comment on function reflection.check_metrics is 'Raises L9VAL or L9LIM unless this is an object of at most 64 names.';

create function reflection.check_task(
  task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  related_decisions uuid[], execution_time_ms double precision, metrics_improved jsonb, metrics_degraded jsonb) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if task_id is null or identity.is_blank(task_id) then
    perform identity.raise_error('L9VAL', 'task_id: required');
  elsif description is null or identity.is_blank(description) then
    perform identity.raise_error('L9VAL', 'description: required');
  elsif not (execution_time_ms >= 0 and execution_time_ms < 'infinity') then
    perform identity.raise_error('L9VAL', 'execution_time_ms: must be a finite number of 0 or more');
  elsif cardinality(related_decisions) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('related_decisions: at most %s, got %s', reflection.max_list_length(), cardinality(related_decisions)));
  end if;
  perform identity.check_bytes(task_id, 200, 'task_id'), identity.check_bytes(description, 65536, 'description');
  perform reflection.check_choice(outcome, reflection.task_outcomes(), 'outcome');
  perform reflection.check_texts(what_worked, 'what_worked');
  perform reflection.check_texts(what_failed, 'what_failed');
  perform reflection.check_texts(recommendations, 'recommendations');
  perform reflection.check_metrics(metrics_improved, 'metrics_improved');
  perform reflection.check_metrics(metrics_degraded, 'metrics_degraded');
end $$;
comment on function reflection.check_task is 'Raises L9VAL or L9LIM, naming the field, for what a task can''t have.';

create function reflection.lock_task(task_id text, scope text, project_id text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
begin
  if identity.is_blank(task_id) then
    perform identity.raise_error('L9VAL', 'task_id: must not be blank');
  end if;
  perform packets.check_scope(scope, project_id);
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory task %s %s',
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope), task_id), 0));
end $$;
comment on function reflection.lock_task is 'Makes concurrent calls for one task of the caller''s audience follow each other.';

create function reflection.metric_texts(metrics jsonb) returns text[] language sql immutable parallel safe set search_path = ''
return array(select pg_catalog.format('%s: %s', m.name, m.value) from pg_catalog.jsonb_each_text(metrics) as m (name, value)
  order by m.name);
comment on function reflection.metric_texts is 'Metrics in words: one text for each, in the order of their names.';

create function reflection.task_text(task_id text, description text, outcome text, what_worked text[], what_failed text[],
  recommendations text[], metrics_improved jsonb, metrics_degraded jsonb) returns text
language sql immutable parallel safe set search_path = ''
return (
  select pg_catalog.concat_ws(e'\n', pg_catalog.format('Task %s: %s', task_id, description), 'Outcome: ' || outcome,
    pg_catalog.string_agg(part.title || e':\n- ' || pg_catalog.array_to_string(part.texts, e'\n- '), e'\n' order by part.place))
  from (values
    (1, 'What worked', what_worked), (2, 'What failed', what_failed), (3, 'Recommendations', recommendations),
    (4, 'Improved', reflection.metric_texts(metrics_improved)), (5, 'Degraded', reflection.metric_texts(metrics_degraded))
  ) as part (place, title, texts)
  where pg_catalog.cardinality(part.texts) > 0);
comment on function reflection.task_text is 'The result of a task in words. Its lessons are memories of their own.';
grant execute on function reflection.check_texts, reflection.check_metrics, reflection.metric_texts, reflection.lock_task,
  reflection.check_task, reflection.task_text to l9_agent, l9_admin, l9_worker;
