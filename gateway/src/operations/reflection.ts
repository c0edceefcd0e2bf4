// What agents learned: told once, and recalled when it helps.
import { z } from 'zod';
import { toVectorLiteral } from '../embeddings/index.ts';
import { fraction, projectId, scope, searched, tags, threadId, time, uuid, whole } from './fields.ts';
import { call, define, type Embed, type Operation } from './operation.ts';

const type = z.enum(['lesson', 'pattern', 'failure', 'success', 'insight', 'improvement', 'false_constraint']);
const priority = z.enum(['critical', 'high', 'medium', 'low']);

export const reflectInput = z.strictObject({
  content: z.string().describe('What was learned, in a sentence or two that stand alone.'),
  type: type.nullish().describe('Left out: lesson. false_constraint: what was thought to bind, and does not.'),
  context: z.string().nullish().describe('When it applies, or how it was learned: 8 KiB at most.'),
  entities: z.array(z.string()).max(64, 'at most 64').nullish().describe('Names of what it is about.'),
  tags: tags.nullish(),
  confidence: fraction.nullish().describe('How sure you are, 0 to 1. Left out: 0.7.'),
  priority: priority.nullish().describe('Left out: medium.'),
  expires_at: time.nullish().describe('From when on it is not recalled any more. Left out: never.'),
  scope: scope.default('developer'),
  project_id: projectId.nullish(),
  learned_from: z.array(uuid).max(64, 'at most 64').nullish().describe('Ids of memories that it was learned from.'),
  thread_id: threadId.nullish(),
});

export const reflection = z.object({
  reflection_id: z.string(),
  packet_id: z.string().describe('The memory that says it.'),
  content: z.string(),
  reflection_type: z.string(),
  context: z.string().nullable(),
  entities: z.array(z.string()),
  tags: z.array(z.string()),
  confidence: z.number(),
  priority: z.string(),
  times_seen: z.int().describe('How often it was told.'),
  scope: z.string(),
  project_id: z.string().nullable(),
  source_agent: z.string().nullable().describe('The agent that told it first.'),
  created_at: z.string(),
  last_seen: z.string(),
  expires_at: z.string().nullable(),
});

export const reflectOutput = z.object({
  status: z
    .enum(['inserted', 'reinforced'])
    .describe('reinforced: it was known in these or nearly these words; the one that was there is surer now.'),
  reflection,
});

export const recallInput = z.strictObject({
  query: z.string().nullish().describe('What you are about to do, in plain words. Left out: the newest that matter.'),
  types: z.array(type).nullish().describe('Only these types.'),
  tags: z.array(z.string()).nullish().describe('Only lessons with these tags.'),
  tags_match: z.enum(['any', 'all']).default('any').describe('Whether one of the tags is enough.'),
  priority: priority.nullish().describe('Only of this priority or a higher one.'),
  k: whole(1, 100).default(10).describe('How many at most, 1 to 100.'),
  scopes: z.array(z.string()).nullish().describe('Only these of your scopes.'),
  project_id: z.string().nullish().describe('Only this project, and what belongs to no project.'),
  max_tokens: whole(500, 1_000_000).nullish().describe('Trim the lessons to about this many tokens.'),
});

export const lesson = reflection.omit({ created_at: true }).extend({
  access_id: z.string().describe('For record_feedback: this lesson of this recall.'),
  is_truncated: z.boolean(),
  score: z.number().describe('From 0 to 1: as of search_memory, lifted by priority and confidence.'),
});
export const recallOutput = z.object({ lessons: z.array(lesson), searched });

type Embedded = Awaited<ReturnType<Embed>>;
const vectorOf = (embedded: Embedded) => embedded && toVectorLiteral(embedded.vector);

const reflect = define({
  name: 'reflect',
  graphqlName: 'reflect',
  title: 'Keep a lesson',
  description:
    'After a task, keep what you learned from it: what worked, what failed and why, what turned out not to be true. ' +
    'What is known already, by whomever, is reinforced rather than repeated.',
  input: reflectInput,
  output: reflectOutput,
  isReadOnly: false,
  isDestructive: false,
  isIdempotent: false,
  audit: 'INSERT',
  enqueuesEmbeddings: true,
  prepare: async ({ content }, embedding) => embedding.content(content),
  run: (client, input, prepared) => {
    const embedded = prepared as Embedded;
    return call<z.output<typeof reflectOutput>>(
      client,
      'r.status, reflection.reflection_json(r.reflection) as reflection',
      'reflect',
      { ...input, content_vector: vectorOf(embedded), model: embedded?.model },
    );
  },
  summarize: ({ status, reflection: { reflection_id, times_seen, confidence } }) =>
    status === 'inserted'
      ? `Kept as ${reflection_id}.`
      : `Known already: ${reflection_id}, told ${times_seen} times, confidence now ${confidence.toFixed(2)}.`,
});

const recallLessons = define({
  name: 'recall_lessons',
  graphqlName: 'recallLessons',
  title: 'Recall lessons',
  description:
    'Before a task, ask what was learned from others like it: lessons, failures, patterns, false constraints. Best first; ' +
    'priority and confidence count a little.',
  input: recallInput,
  output: recallOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'SEARCH',
  enqueuesEmbeddings: false,
  prepare: async ({ query }, embedding) => (query && /\S/.test(query) ? embedding.query(query) : null),
  isOvertaken: (prepared, result) =>
    prepared !== null && 'output' in result && result.output.searched.vectors === 'unavailable',
  run: (client, input, prepared) => {
    const embedded = prepared as Embedded;
    return call<z.output<typeof recallOutput>>(client, 'to_jsonb(r.lessons) as lessons, r.searched', 'recall_lessons', {
      ...input,
      query_vector: vectorOf(embedded),
      model: embedded?.model,
    });
  },
  summarize: ({ lessons, searched: { scopes, notice } }) => {
    const where = `searched ${scopes.join(', ') || 'no scope'}.${notice ? ` ${notice}` : ''}`;
    if (lessons.length === 0) return `No lesson found: ${where}`;
    const lines = lessons.map(
      (one, index) =>
        `${index + 1}. ${one.reflection_type}, ${one.priority}, confidence ${one.confidence.toFixed(2)}: ` +
        `${one.content.replace(/\s+/g, ' ')}${one.context ? ` (${one.context.replace(/\s+/g, ' ')})` : ''}`,
    );
    return `${lessons.length === 1 ? '1 lesson' : `${lessons.length} lessons`}, ${where}\n${lines.join('\n')}`;
  },
});

export const reflectionOperations: readonly Operation[] = [reflect, recallLessons];
