-- The types that recall_lessons() answers, and the factor by which it weighs priority and confidence.
create type public.recalled_lesson as (reflection_id uuid, packet_id uuid, access_id uuid, content text, is_truncated boolean,
  reflection_type text, priority text, confidence double precision, times_seen integer, context text, entities text[],
  tags text[], scope text, project_id text, source_agent text, last_seen timestamptz, expires_at timestamptz, score real,
  relevance real, branch text, agent_count integer, standing public.standing);
call identity.describe('public.recalled_lesson', 'A reflection that recall_lessons() found.
  reflection_id: The id of the reflection.
  is_truncated: True if content was cut.
  reflection_type: The type, as in reflection_store.
  priority: critical, high, medium or low.
  confidence: The confidence, from 0 to 0.99.
  times_seen: The number of times that the reflection was saved, by all agents.
  agent_count: The number of agents that saved the reflection.
  context: The circumstances in which the reflection applies or was learned.
  entities: The names of the entities that the reflection is about.
  tags: The tags of the memory.
  scope: The scope, which decides who can read the reflection.
  project_id: The project; null in scope global.
  branch: The branch; null means every branch.
  standing: Whose word the lesson is, and what has superseded it, as in memory_hit.
  source_agent: The agent that saved the reflection first.
  last_seen: The time when the reflection was last saved.
  expires_at: The time from which the reflection is no longer recalled; null: never.
  packet_id: The memory of the reflection.
  access_id: The id of this access, which record_feedback() takes.
  content: The text: cut after 8000 characters, or earlier if max_tokens requires it.
  score: The score from 0 to 1: as in search_memory(), raised by priority and confidence.
  relevance: How likely it has to do with the query, from 0 to 1, as in search_memory(); null without a query.');

create type public.recall_result as (lessons public.recalled_lesson[], searched jsonb, nearest public.nearest_memory[]);
call identity.describe('public.recall_result', 'Lessons, best first, and a description of the search, so that an empty result
    can''t be mistaken for a missing permission.
  lessons: The lessons, best first. None if nothing matched well.
  nearest: Then up to three lessons that are nearest to the query, best first; otherwise empty.
  searched: What was searched: the same object as in the result of search_memory().');

create function reflection.lesson_factor(priority text, confidence double precision) returns real
language sql immutable parallel safe return ((1 + 0.2 * reflection.priority_rank(priority) / 3.0 + 0.1 * confidence) / 1.3)::real;
comment on function reflection.lesson_factor is 'The factor by which the score of a lesson is multiplied. Priority adds at most '
  '20 % and confidence at most 10 %. A lesson with a lower score can therefore overtake another one only if its score is more '
  'than 1 / 1.3 (77 %) of the other''s.';
grant execute on function reflection.lesson_factor to l9_agent, l9_admin, l9_platform_admin;
