-- What a search shows where nothing matched well. The answers of search_memory(), memory_find and recall_lessons() have it.
create type public.nearest_memory as (packet_id uuid, kind text, snippet text, score real, relevance real, scope text,
  project_id text, standing public.standing);
call identity.describe('public.nearest_memory', 'One of up to three memories that are nearest to a query where nothing
    matched well.
  packet_id: The memory. get_memory returns it.
  kind: Kind of the memory.
  snippet: The part that is nearest, with words of the query between ** and **.
  score: Score of the memory, from 0 to 1, as that of a hit.
  relevance: How likely the memory has to do with the query, from 0 to 1.
  scope: Scope of the memory, which decides which callers can read it.
  project_id: Project of the memory; null in scope global.
  standing: Whose word the memory is, and what has superseded it.');
