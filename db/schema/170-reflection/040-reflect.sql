create function reflection.telling_words(content text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  select distinct case when w.word ~ '[0-9]' then w.word else 'not' end as word
  from pg_catalog.unnest(duplicates.distinct_words(content)) as w (word)
  -- "t" is what was left of "don't".
  where w.word ~ '[0-9]' or w.word in ('not', 'no', 'never', 'none', 'nor', 'without', 'cannot', 't')
  order by word);

comment on function reflection.telling_words(text) is
  'The numbers in a text, and whether it negates: texts that differ in these are never the same lesson, however alike they are.';

create function reflection.find_reflection(
  content text, type text, scope text, project_id text, content_vector extensions.vector, model text)
returns uuid
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me identity.identity := identity.require_identity();
begin
  if content is null or content !~ '\S' or octet_length(content) > 1048576 then
    return null; -- The insert says what is wrong with it.
  end if;
  -- First: who waited for a lock in a scope that is not its own would learn that somebody is writing there.
  perform packets.check_scope(scope, project_id);
  -- Until the end of the transaction. The statement that follows sees what those committed who had it before.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory reflections %s',
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope)), 0));
  return (
    select s.packet_id
    from duplicates.find_similar(
      content, scope, project_id, 'reflection', me.org_id, me.user_id, null, content_vector, model) s
    join public.reflection_store r on r.source_packet = s.packet_id
    join public.packet_store p on p.packet_id = s.packet_id
    where reflection.are_one_sort(r.reflection_type, type)
      and reflection.telling_words(p.envelope ->> 'content') = reflection.telling_words(content)
    order by s.similarity desc, s.packet_id
    limit 1);
end
$$;

comment on function reflection.find_reflection(text, text, text, text, extensions.vector, text) is
  'The memory of a reflection that says the same or nearly the same in the caller''s room, or null; whoever asks holds the room until its transaction ends, so that none is told twice at once.';

create function public.reflect(
  content text,
  type text default 'lesson',
  context text default null,
  entities text[] default '{}',
  tags text[] default '{}',
  confidence double precision default 0.7,
  priority text default 'medium',
  expires_at timestamptz default null,
  scope text default 'developer',
  project_id text default null,
  learned_from uuid[] default '{}',
  thread_id text default null,
  content_vector extensions.vector default null,
  model text default null
)
returns public.reflect_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  place text := coalesce(reflect.scope, 'developer');
  what text := coalesce(reflect.type, 'lesson');
  urgency text := coalesce(reflect.priority, 'medium');
  certainty double precision := coalesce(reflect.confidence, 0.7);
  known uuid;
  refused_field text;
  refusal text;
begin
  perform reflection.check_reflection(what, reflect.context, reflect.entities, certainty, urgency);
  if reflect.expires_at <= now() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future', 'expires_at');
  end if;
  known := reflection.find_reflection(
    reflect.content, what, place, reflect.project_id, reflect.content_vector, reflect.model);
  if known is null then
    begin
      known := (public.save_memory(
        reflect.content, scope => place, project_id => reflect.project_id, kind => 'reflection', tags => reflect.tags,
        thread_id => reflect.thread_id, parent_ids => reflect.learned_from, ttl => reflect.expires_at,
        importance => (0.3 + 0.2 * reflection.priority_rank(urgency))::real)).memory.packet_id;
    exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' then
      get stacked diagnostics refused_field = column_name, refusal = message_text;
      if refused_field <> 'parent_ids' then
        raise;
      end if;
      -- Named as the caller knows it.
      perform identity.raise_error(sqlstate, regexp_replace(refusal, '^parent_ids', 'learned_from'), 'learned_from');
    end;
  else
    -- Kept as long as any of them meant it to be, where it is the caller's to say: under its own policies.
    update public.packet_store p set ttl = reflect.expires_at
    where p.packet_id = known and p.ttl < coalesce(reflect.expires_at, 'infinity');
  end if;
  return reflection.store_reflection(known, what, reflect.context, reflect.entities, certainty, urgency);
end
$$;

comment on function public.reflect(
  text, text, text, text[], text[], double precision, text, timestamptz, text, text, uuid[], text, extensions.vector, text) is
  'Saves what was learned, as a memory of kind reflection; where the same or nearly the same is known in that scope and project, reinforces that instead, whoever told it (reinforced): confidence, times_seen, the higher priority. type: lesson, pattern, failure, success, insight, improvement or false_constraint. learned_from: memories it was learned from. content_vector, of the model named, lets meaning count in what is nearly the same. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function
  reflection.telling_words(text), reflection.find_reflection(text, text, text, text, extensions.vector, text),
  public.reflect(
    text, text, text, text[], text[], double precision, text, timestamptz, text, text, uuid[], text, extensions.vector, text)
to l9_agent, l9_admin;

create function reflection.reflection_json(reflection public.reflection_store)
returns jsonb
language sql
-- Volatile: so that it sees the memory which the same statement has just saved.
volatile
set search_path = ''
return pg_catalog.jsonb_build_object(
  'reflection_id', (reflection).reflection_id,
  'packet_id', (reflection).source_packet,
  'content', public.reflection_store_content(reflection),
  'reflection_type', (reflection).reflection_type,
  'context', (reflection).context,
  'entities', (reflection).entities,
  'tags', public.reflection_store_tags(reflection),
  'confidence', (reflection).confidence,
  'priority', (reflection).priority,
  'times_seen', (reflection).times_seen,
  'scope', (reflection).scope,
  'project_id', (reflection).project_id,
  'source_agent', (reflection).source_agent,
  'created_at', (reflection).created_at,
  'last_seen', (reflection).last_seen,
  'expires_at', (reflection).ttl);

comment on function reflection.reflection_json(public.reflection_store) is 'A reflection as the gateway hands it out, with what is its memory''s.';

grant execute on function reflection.reflection_json(public.reflection_store) to l9_agent, l9_admin, l9_platform_admin;
