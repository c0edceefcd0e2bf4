import { z } from 'zod';
import { isBlank } from '../input/text.ts';
import {
  counted,
  hits,
  maxTokens,
  minRelevance,
  oneLine,
  onlyBranch,
  onlyProject,
  scopes,
  searched,
  tagsMatch,
  timeText,
  vectorParameters,
} from './fields.ts';
import { graphqlTypes, memoryRelation, uuidText } from './graphql-types.ts';
import { linesOf, nearest, type StoredNearest, withNearest } from './nearest.ts';
import { call, defineOperation, type EmbeddedText, retryOf } from './operation.ts';
import { recalled } from './recalled.ts';
import { priority, reflectionFields, reflectionType } from './reflect.ts';
import { type AsStored, signature, standing, withStanding } from './standing.ts';

const { created_at, ...recalledFields } = reflectionFields;
void created_at;

const lesson = z
  .object({
    ...recalledFields,
    ...standing,
    reflection_id: uuidText(),
    packet_id: uuidText().describe('The memory that holds it.'),
    last_seen: timeText(),
    expires_at: timeText().nullable(),
    access_id: z.string().describe('Pass it to record_feedback.'),
    is_truncated: z.boolean(),
    score: z.number().describe('From 0 to 1: the score of search_memory, raised by priority and confidence.'),
    relevance: z.number().nullable().describe('How likely it has to do with the query, 0 to 1; null without a query.'),
  })
  .register(graphqlTypes, {
    name: 'RecalledLesson',
    description: 'A reflection that was recalled.',
    relations: {
      reflection: {
        resource: 'reflection',
        column: 'reflection_id',
        description: 'The reflection itself, with its relations.',
      },
      memory: { ...memoryRelation, description: 'The memory that holds it.' },
    },
  });

interface Recalled {
  lessons: AsStored<z.output<typeof lesson>>[];
  searched: z.output<typeof searched>;
  nearest: StoredNearest;
}

export const recallLessons = defineOperation({
  name: 'recall_lessons',
  title: 'Recall lessons',
  toolSet: 'core',
  description:
    'Before a task, recall what was learned from similar ones: lessons, failures, patterns, false constraints. ' +
    'Best match first; priority and confidence add a little to the score.',
  input: z.strictObject({
    query: z
      .string()
      .nullish()
      .describe('What you are about to do, in plain words. Default: the newest important ones.'),
    types: z.array(reflectionType).nullish().describe('Only these types.'),
    tags: z.array(z.string()).nullish().describe('Only lessons with these tags.'),
    tags_match: tagsMatch,
    priority: priority.nullish().describe('Only this priority or higher.'),
    k: hits,
    scopes: scopes.nullish(),
    project_id: onlyProject.nullish(),
    branch: onlyBranch.nullish(),
    max_tokens: maxTokens.nullish().describe('Trim the lessons to about this many tokens.'),
    min_relevance: minRelevance.nullish(),
  }),
  output: z.object({ lessons: z.array(lesson), nearest, searched }).register(graphqlTypes, { name: 'RecallResult' }),
  isReadOnly: true,
  inferredProject: () => 'narrows',
  audit: 'SEARCH',
  prepare: async ({ query, project_id }, embedding) => (isBlank(query) ? null : embedding.query(query!, project_id)),
  retry: retryOf,
  run: async (client, input, embedded: EmbeddedText | null, retries) => {
    const { lessons, ...others } = await call<Recalled>(
      client,
      'to_jsonb(r.lessons) as lessons, r.searched, to_jsonb(r.nearest) as nearest',
      'recall_lessons',
      { ...input, ...vectorParameters('query_vector', embedded), retry_for: retries },
    );
    return { lessons: lessons.map(withStanding), ...withNearest(others) };
  },
  recalls: ({ lessons, nearest }) => lessons.length + nearest.length > 0,
  summarize: ({ lessons, nearest, searched: { scopes, notice } }, reader) => {
    const where = `searched ${scopes.join(', ') || 'no scope'}.${notice ? ` ${notice}` : ''}`;
    if (lessons.length === 0) return `No lesson found: ${where}${linesOf(nearest, reader)}`;
    const lines = lessons.map(
      (one, index) =>
        `${index + 1}. ${one.reflection_type}, ${one.priority}, confidence ${one.confidence.toFixed(2)}: ` +
        `${recalled(oneLine(one.content))}${one.context ? ` (${recalled(oneLine(one.context))})` : ''}${signature(one, reader)}`,
    );
    return `${counted(lessons.length, 'lesson')}, ${where}\n${lines.join('\n')}`;
  },
});
