create type public.recalled_lesson as (
  reflection_id uuid,
  packet_id uuid,
  access_id uuid,
  content text,
  is_truncated boolean,
  reflection_type text,
  priority text,
  confidence double precision,
  times_seen integer,
  context text,
  entities text[],
  tags text[],
  scope text,
  project_id text,
  source_agent text,
  last_seen timestamptz,
  expires_at timestamptz,
  score real
);

comment on type public.recalled_lesson is 'A reflection that was recalled.';
comment on column public.recalled_lesson.reflection_id is 'The reflection.';
comment on column public.recalled_lesson.is_truncated is 'Whether content was cut.';
comment on column public.recalled_lesson.reflection_type is 'As of reflection_store.';
comment on column public.recalled_lesson.priority is 'critical, high, medium or low.';
comment on column public.recalled_lesson.confidence is 'How sure it is, from 0 to 0.99.';
comment on column public.recalled_lesson.times_seen is 'How often it was told.';
comment on column public.recalled_lesson.context is 'When it applies, or how it was learned.';
comment on column public.recalled_lesson.entities is 'What it is about: names, normalised.';
comment on column public.recalled_lesson.tags is 'The labels of its memory.';
comment on column public.recalled_lesson.scope is 'What decides who sees it.';
comment on column public.recalled_lesson.project_id is 'Its project; null in scope global.';
comment on column public.recalled_lesson.source_agent is 'The agent that told it first.';
comment on column public.recalled_lesson.last_seen is 'When it was last told.';
comment on column public.recalled_lesson.expires_at is 'From when on nobody recalls it; null: never.';
comment on column public.recalled_lesson.packet_id is 'The memory that says it.';
comment on column public.recalled_lesson.access_id is 'What record_feedback takes: this lesson of this recall.';
comment on column public.recalled_lesson.content is 'What was learned, cut after 8000 characters, or a preview where max_tokens left no more room.';
comment on column public.recalled_lesson.score is 'From 0 to 1: as of search_memory, lifted by priority and confidence.';

create type public.recall_result as (lessons public.recalled_lesson[], searched jsonb);

comment on type public.recall_result is 'Lessons, best first, and what was searched: so that an empty result can''t be taken for a missing permission.';
comment on column public.recall_result.lessons is 'The lessons, best first.';
comment on column public.recall_result.searched is 'What was searched, as of search_memory.';

create function reflection.lesson_factor(priority text, confidence double precision)
returns real
language sql
immutable
parallel safe
return ((1 + 0.2 * reflection.priority_rank(priority) / 3.0 + 0.1 * confidence) / 1.3)::real;

comment on function reflection.lesson_factor(text, double precision) is
  'What the score of a lesson is multiplied with: priority lifts by a fifth at most, confidence by a tenth. So of two lessons the one that scored less can come before the other only where it scored more than 1 / 1.3 of it: 77 %.';

grant execute on function reflection.lesson_factor(text, double precision) to l9_agent, l9_admin, l9_platform_admin;
