-- What the steps of a trace of reasoning say is embedded beside its content, as type reasoning.

create function embeddings.reasoning_text(kind text, envelope jsonb)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case when kind = 'reasoning_trace' and jsonb_typeof(envelope -> 'steps') = 'array' then (
  select pg_catalog.string_agg(step.text #>> '{}', E'\n' order by step.place)
  from pg_catalog.jsonb_path_query(envelope -> 'steps', 'strict $.** ? (@.type() == "string")') with ordinality as step (text, place)
  where step.text #>> '{}' ~ '\S') end;

comment on function embeddings.reasoning_text(text, jsonb) is
  'All texts in the steps of a trace of reasoning, a line each; null where there are none, and for memories of other kinds.';

create function embeddings.tg_packet_store__reasoning_follows()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  delete from public.memory_embeddings e where e.packet_id = new.packet_id and e.embedding_type = 'reasoning';
  insert into embeddings.pending_embeddings as p (packet_id, model)
  select new.packet_id, m.model from public.embedding_models m where m.state in ('serving', 'arriving')
  order by m.model
  on conflict (packet_id, model) do update
    set attempts = 0, next_attempt_at = now(), leased_until = null, last_error = null;
  return null;
end
$$;

comment on function embeddings.tg_packet_store__reasoning_follows() is
  'Drops the vectors of what the steps said, and has what they say now embedded. Definer: callers can''t write vectors.';

create trigger _600_reasoning_follows after update of envelope, packet_type on public.packet_store
  for each row when (
    (old.packet_type = 'reasoning_trace' or new.packet_type = 'reasoning_trace')
    and (new.packet_type <> old.packet_type or new.envelope -> 'steps' is distinct from old.envelope -> 'steps'))
  execute function embeddings.tg_packet_store__reasoning_follows();

create function embeddings.store_reasoning(
  packet_id uuid, reasoning text, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
begin
  perform from public.packet_store p
  where p.packet_id = store_reasoning.packet_id
    and embeddings.reasoning_text(p.packet_type, p.envelope) = store_reasoning.reasoning
  for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_reasoning.packet_id and q.model = store_reasoning.model;
    return false;
  end if;
  perform embeddings.insert_vectors(
    store_reasoning.packet_id, 'reasoning', store_reasoning.model, vectors, chunk_texts, chunk_starts, chunk_ends);
  return true;
end
$$;

comment on function embeddings.store_reasoning(uuid, text, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of what the steps of a memory say, the whole first and then its chunks; store_vectors() follows in the same statement. False, and nothing stored, where they say something else by now: then it stays on the list.';

grant execute on function
  embeddings.reasoning_text(text, jsonb),
  embeddings.store_reasoning(uuid, text, text, text[], text[], integer[], integer[])
to l9_worker;
