-- The types that recall_lessons() answers, and the factor by which it weighs priority and confidence.
create type public.recalled_lesson as (reflection_id uuid, packet_id uuid, access_id uuid, content text, is_truncated boolean,
  reflection_type text, priority text, confidence double precision, times_seen integer, context text, entities text[],
  tags text[], scope text, project_id text, source_agent text, last_seen timestamptz, expires_at timestamptz, score real,
  relevance real, branch text, agent_count integer, standing public.standing);
comment on type public.recalled_lesson is 'A reflection that recall_lessons() found.';
comment on column public.recalled_lesson.reflection_id is 'The id of the reflection.';
comment on column public.recalled_lesson.is_truncated is 'True if content was cut.';
comment on column public.recalled_lesson.reflection_type is 'The type, as in reflection_store.';
comment on column public.recalled_lesson.priority is 'critical, high, medium or low.';
comment on column public.recalled_lesson.confidence is 'The confidence, from 0 to 0.99.';
comment on column public.recalled_lesson.times_seen is 'The number of times that the reflection was saved, by all agents.';
comment on column public.recalled_lesson.agent_count is 'The number of agents that saved the reflection.';
comment on column public.recalled_lesson.context is 'The circumstances in which the reflection applies or was learned.';
comment on column public.recalled_lesson.entities is 'The names of the entities that the reflection is about.';
comment on column public.recalled_lesson.tags is 'The tags of the memory.';
comment on column public.recalled_lesson.scope is 'The scope, which decides who can read the reflection.';
comment on column public.recalled_lesson.project_id is 'The project; null in scope global.';
comment on column public.recalled_lesson.branch is 'The branch; null means every branch.';
comment on column public.recalled_lesson.standing is 'Whose word the lesson is, and what has superseded it, as in memory_hit.';
comment on column public.recalled_lesson.source_agent is 'The agent that saved the reflection first.';
comment on column public.recalled_lesson.last_seen is 'The time when the reflection was last saved.';
comment on column public.recalled_lesson.expires_at is 'The time from which the reflection is no longer recalled; null: never.';
comment on column public.recalled_lesson.packet_id is 'The memory of the reflection.';
comment on column public.recalled_lesson.access_id is 'The id of this access, which record_feedback() takes.';
comment on column public.recalled_lesson.content is 'The text: cut after 8000 characters, or earlier if max_tokens requires it.';
comment on column public.recalled_lesson.score is 'The score from 0 to 1: as in search_memory(), raised by priority and '
  'confidence.';
comment on column public.recalled_lesson.relevance is 'How likely it has to do with the query, from 0 to 1, as in '
  'search_memory(); null without a query.';

create type public.recall_result as (lessons public.recalled_lesson[], searched jsonb);
comment on type public.recall_result is 'Lessons, best first, and a description of the search, so that an empty result can''t be '
  'mistaken for a missing permission.';
comment on column public.recall_result.lessons is 'The lessons, best first.';
comment on column public.recall_result.searched is 'What was searched: the same object as in the result of search_memory().';

create function reflection.lesson_factor(priority text, confidence double precision) returns real
language sql immutable parallel safe return ((1 + 0.2 * reflection.priority_rank(priority) / 3.0 + 0.1 * confidence) / 1.3)::real;
comment on function reflection.lesson_factor is 'The factor by which the score of a lesson is multiplied. Priority adds at most '
  '20 % and confidence at most 10 %. A lesson with a lower score can therefore overtake another one only if its score is more '
  'than 1 / 1.3 (77 %) of the other''s.';
grant execute on function reflection.lesson_factor to l9_agent, l9_admin, l9_platform_admin;
