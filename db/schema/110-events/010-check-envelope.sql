create function events.check_word_of(envelope jsonb, field text, is_required boolean)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if coalesce(jsonb_typeof(envelope -> field), 'null') = 'null' and not is_required then
    return;
  elsif jsonb_typeof(envelope -> field) is distinct from 'string' or envelope ->> field !~ '\S' then
    perform identity.raise_error('L9VAL', format('envelope.%s: a text is required', field), 'envelope.' || field);
  end if;
  perform identity.check_bytes(envelope ->> field, 200, 'envelope.' || field);
end
$$;

comment on function events.check_word_of(jsonb, text, boolean) is
  'L9VAL or L9LIM, naming the field, unless it is a text of 1 to 200 bytes, or left out where it may be.';

create function events.check_event(envelope jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  happened text := envelope ->> 'timestamp';
begin
  perform events.check_word_of(envelope, 'event_type', true);
  perform events.check_word_of(envelope, 'agent_id', false);
  -- PostgreSQL would also take tomorrow, or a time of day.
  if happened !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$'
    or not pg_input_is_valid(happened, 'timestamptz') then
    perform identity.raise_error('L9VAL',
      'envelope.timestamp: a time as in 2026-12-31T23:59:59Z', 'envelope.timestamp');
  end if;
end
$$;

comment on function events.check_event(jsonb) is
  'What the envelope of a memory of kind event must be: event_type, and perhaps agent_id and timestamp; else L9VAL or L9LIM, naming the field.';

create function events.check_reasoning(envelope jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  field text;
begin
  perform events.check_word_of(envelope, 'agent_id', false);
  if jsonb_typeof(envelope -> 'steps') is distinct from 'array' or jsonb_array_length(envelope -> 'steps') = 0
    or jsonb_path_exists(envelope -> 'steps', 'strict $[*] ? (@.type() != "string" && @.type() != "object")') then
    perform identity.raise_error('L9VAL', 'envelope.steps: a list of texts or objects, at least one', 'envelope.steps');
  elsif coalesce(jsonb_typeof(envelope -> 'inference_steps'), 'null') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.inference_steps: a list', 'envelope.inference_steps');
  elsif coalesce(jsonb_typeof(envelope -> 'extracted_features'), 'null') not in ('object', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.extracted_features: an object', 'envelope.extracted_features');
  end if;
  foreach field in array array['steps', 'inference_steps'] loop
    if jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 1000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 1000, got %s', field, jsonb_array_length(envelope -> field)), 'envelope.' || field);
    end if;
  end loop;
  foreach field in array array['reasoning_tokens', 'decision_tokens'] loop
    if coalesce(jsonb_typeof(envelope -> field), 'null') not in ('array', 'number', 'null')
      or jsonb_typeof(envelope -> field) = 'number'
        and ((envelope ->> field)::numeric < 0 or (envelope ->> field)::numeric % 1 <> 0)
      or jsonb_typeof(envelope -> field) = 'array'
        and jsonb_path_exists(envelope -> field, 'strict $[*] ? (@.type() != "string")') then
      perform identity.raise_error('L9VAL',
        format('envelope.%s: how many (a whole number), or the tokens themselves (a list of texts)', field), 'envelope.' || field);
    elsif jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 10000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 10000, got %s', field, jsonb_array_length(envelope -> field)), 'envelope.' || field);
    end if;
  end loop;
  if coalesce(jsonb_typeof(envelope -> 'confidence_scores'), 'null') not in ('object', 'null')
    or jsonb_typeof(envelope -> 'confidence_scores') = 'object' and exists (
      select from jsonb_each(envelope -> 'confidence_scores') as score
      where jsonb_typeof(score.value) <> 'number' or not (score.value #>> '{}')::numeric between 0 and 1) then
    perform identity.raise_error('L9VAL',
      'envelope.confidence_scores: an object of numbers from 0 to 1', 'envelope.confidence_scores');
  end if;
end
$$;

comment on function events.check_reasoning(jsonb) is
  'What the envelope of a memory of kind reasoning_trace must be: steps, and perhaps agent_id, extracted_features, inference_steps, reasoning_tokens, decision_tokens and confidence_scores; else L9VAL or L9LIM, naming the field.';

create function events.tg_packet_store__check_envelope()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if new.packet_type = 'event' then
    perform events.check_event(new.envelope);
  else
    perform events.check_reasoning(new.envelope);
  end if;
  return new;
end
$$;

comment on function events.tg_packet_store__check_envelope() is
  'Refuses an event, or a trace of reasoning, whose envelope does not say what is asked of it.';

-- Old memories are moved in as they are.
create trigger _150_check_envelope before insert on public.packet_store
  for each row when (
    new.packet_type in ('event', 'reasoning_trace') and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__check_envelope();
create trigger _150_check_envelope_changed before update of envelope, packet_type on public.packet_store
  for each row when (
    new.packet_type in ('event', 'reasoning_trace')
    and (new.packet_type <> old.packet_type or new.envelope is distinct from old.envelope)
    and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__check_envelope();

grant execute on function
  events.check_word_of(jsonb, text, boolean), events.check_event(jsonb), events.check_reasoning(jsonb)
to l9_agent, l9_admin;
