-- Checks the envelopes of events and reasoning traces. Triggers of packet_store call check_event() and check_reasoning().
create function events.check_word_of(envelope jsonb, field text, is_required boolean) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if coalesce(jsonb_typeof(envelope -> field), 'null') = 'null' and not is_required then
    return;
  elsif jsonb_typeof(envelope -> field) is distinct from 'string' or identity.is_blank(envelope ->> field) then
    perform identity.raise_error('L9VAL', format('envelope.%s: must be a text that is not blank', field));
  end if;
  perform identity.check_bytes(envelope ->> field, 200, 'envelope.' || field);
end $$;
comment on function events.check_word_of is 'Raises L9VAL or L9LIM unless a field holds a text of 1 to 200 bytes.';

create function events.check_event(envelope jsonb) returns void language plpgsql stable parallel safe set search_path = '' as $$
declare
  event_time constant text := envelope ->> 'timestamp';
begin
  perform events.check_word_of(envelope, 'event_type', true);
  perform events.check_word_of(envelope, 'agent_id', false);
  -- A time names its zone, for which that of the server is no substitute.
  if event_time ~ ':' and event_time !~ '(Z|[+-]\d\d(:?\d\d)?)$'
    or event_time is not null and kinds.field_time(envelope -> 'timestamp') is null then
    perform identity.raise_error('L9VAL', 'envelope.timestamp: must be a time such as 2026-12-31T23:59:59Z');
  end if;
end $$;
comment on function events.check_event is 'Checks the envelope of an event. Raises L9VAL or L9LIM for the field.';

-- The required steps come first, then the type and the limit of each optional field.
create function events.check_reasoning(envelope jsonb) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  field text;
begin
  perform events.check_word_of(envelope, 'agent_id', false);
  if jsonb_typeof(envelope -> 'steps') is distinct from 'array' or jsonb_array_length(envelope -> 'steps') = 0
    or jsonb_path_exists(envelope -> 'steps', 'strict $[*] ? (@.type() != "string" && @.type() != "object")') then
    perform identity.raise_error('L9VAL', 'envelope.steps: must be a list of at least one text or object');
  elsif coalesce(jsonb_typeof(envelope -> 'inference_steps'), 'null') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.inference_steps: must be a list');
  elsif coalesce(jsonb_typeof(envelope -> 'extracted_features'), 'null') not in ('object', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.extracted_features: must be an object');
  end if;
  foreach field in array array['steps', 'inference_steps'] loop
    if jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 1000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 1000 items, got %s', field, jsonb_array_length(envelope -> field)));
    end if;
  end loop;
  foreach field in array array['reasoning_tokens', 'decision_tokens'] loop
    if coalesce(jsonb_typeof(envelope -> field), 'null') not in ('array', 'number', 'null')
      or jsonb_typeof(envelope -> field) = 'number'
        and ((envelope ->> field)::numeric < 0 or (envelope ->> field)::numeric % 1 <> 0)
      or jsonb_typeof(envelope -> field) = 'array'
        and jsonb_path_exists(envelope -> field, 'strict $[*] ? (@.type() != "string")') then
      perform identity.raise_error('L9VAL', format('envelope.%s: must be a whole number of tokens or a list of texts', field));
    elsif jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 10000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 10000 items, got %s', field, jsonb_array_length(envelope -> field)));
    end if;
  end loop;
  if coalesce(jsonb_typeof(envelope -> 'confidence_scores'), 'null') not in ('object', 'null')
    or jsonb_typeof(envelope -> 'confidence_scores') = 'object' and exists (
      select from jsonb_each(envelope -> 'confidence_scores') as score
      where jsonb_typeof(score.value) <> 'number' or not (score.value #>> '{}')::numeric between 0 and 1) then
    perform identity.raise_error('L9VAL', 'envelope.confidence_scores: must be an object of numbers from 0 to 1');
  end if;
end $$;
comment on function events.check_reasoning is 'Checks the envelope of a reasoning_trace. Raises L9VAL or L9LIM for the field.';

create function events.tg_packet_store__check_envelope() returns trigger language plpgsql set search_path = '' as $$
begin
  if tg_op = 'UPDATE' and new.packet_type = old.packet_type and new.envelope = old.envelope then
    return new;
  elsif new.packet_type = 'reasoning_trace' then
    perform events.check_reasoning(new.envelope);
    return new;
  end if;
  perform events.check_event(new.envelope);
  if tg_op = 'INSERT' then
    new."timestamp" := coalesce(new."timestamp", kinds.field_time(new.envelope -> 'timestamp'));
  elsif new."timestamp" = old."timestamp" and new.envelope -> 'timestamp' is distinct from old.envelope -> 'timestamp' then
    new."timestamp" := coalesce(kinds.field_time(new.envelope -> 'timestamp'), new."timestamp");
  end if;
  return new;
end $$;
comment on function events.tg_packet_store__check_envelope is 'Rejects an event or trace with a wrong envelope. An event''s '
  'envelope.timestamp is its time, unless the writer gives another.';

-- Before the event time is checked.
create trigger _200_check_envelope before insert or update of envelope, packet_type on public.packet_store
  for each row when (new.packet_type in ('event', 'reasoning_trace')) execute function events.tg_packet_store__check_envelope();

grant execute on function events.check_word_of, events.check_event, events.check_reasoning to l9_agent, l9_admin;
