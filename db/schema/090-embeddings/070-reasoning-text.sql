-- The text of a reasoning trace that is embedded beside its content. lease_pending_embeddings() and the view
-- semantic_memory return it, and store_reasoning() compares it.
create function embeddings.reasoning_text(kind text, envelope jsonb) returns text
language sql immutable parallel safe set search_path = ''
return case when kind = 'reasoning_trace' and jsonb_typeof(envelope -> 'steps') = 'array' then (
  select pg_catalog.string_agg(step.text #>> '{}', E'\n' order by step.place)
  from pg_catalog.jsonb_path_query(envelope -> 'steps', 'strict $.** ? (@.type() == "string")')
    with ordinality as step (text, place)
  where not identity.is_blank(step.text #>> '{}')) end;
comment on function embeddings.reasoning_text is 'All texts in the steps of a reasoning trace, one on each line. Null if there '
  'are none, and for memories of other kinds. The text is embedded beside the content, as type reasoning.';
grant execute on function embeddings.reasoning_text to l9_agent, l9_admin, l9_platform_admin, l9_worker;
