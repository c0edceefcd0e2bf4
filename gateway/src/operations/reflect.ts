import { z } from 'zod';
import { branch, counted, fraction, projectId, scope, tags, threadId, time, uuid, vectorParameters } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { call, defineOperation, type EmbeddedText } from './operation.ts';
import { byline, writer } from './standing.ts';

export const reflectionType = z
  .enum(['lesson', 'pattern', 'failure', 'success', 'insight', 'improvement', 'false_constraint'])
  .register(graphqlTypes, { name: 'String' });
export const priority = z.enum(['critical', 'high', 'medium', 'low']).register(graphqlTypes, { name: 'String' });

export const reflectionFields = {
  reflection_id: z.string().nullable().describe('Null: it waits for a review.'),
  packet_id: z.string().describe('The memory that holds it.'),
  content: z.string(),
  reflection_type: z.string(),
  context: z.string().nullable(),
  entities: z.array(z.string()),
  tags: z.array(z.string()),
  confidence: z.number(),
  priority: z.string(),
  times_seen: z.int().describe('How many times it was reported.'),
  agent_count: z.int().describe('How many agents reported it.'),
  scope: z.string(),
  project_id: z.string().nullable(),
  branch: z.string().nullable(),
  source_agent: z.string().nullable().describe('The agent that reported it first.'),
  ...writer,
  created_at: z.string(),
  last_seen: z.string(),
  expires_at: z.string().nullable(),
};

const reflection = z
  .object(reflectionFields)
  .register(graphqlTypes, { row: { resource: 'reflection', column: 'reflection_id' } });

export const reflect = defineOperation({
  name: 'reflect',
  title: 'Save a lesson',
  toolSet: 'core',
  description:
    'After a task, save what you learned: what worked, what failed and why, which assumption proved false. ' +
    'A lesson that is already known, from any agent, is reinforced instead of stored twice.',
  input: z.strictObject({
    content: z.string().describe('What was learned, in one or two self-contained sentences.'),
    type: reflectionType
      .nullish()
      .describe('Default: lesson. false_constraint: something believed to be a constraint that is not.'),
    context: z.string().nullish().describe('When it applies, or how it was learned; at most 8 KiB.'),
    entities: z.array(z.string()).max(64, 'at most 64').nullish().describe('Names of what it is about.'),
    tags: tags.nullish(),
    confidence: fraction.nullish().describe('How sure you are, 0 to 1. Default: 0.7.'),
    priority: priority.nullish().describe('Default: medium.'),
    expires_at: time.nullish().describe('No longer recalled after this time. Default: never.'),
    scope: scope.default('developer'),
    project_id: projectId.nullish(),
    branch: branch.nullish(),
    learned_from: z.array(uuid).max(64, 'at most 64').nullish().describe('Ids of the memories it was learned from.'),
    thread_id: threadId.nullish(),
    task_id: z.string().nullish().describe('Your task that it was learned from, by any name; at most 200 bytes.'),
  }),
  output: z.object({
    status: z
      .enum(['inserted', 'reinforced', 'pending'])
      .register(graphqlTypes, {
        name: 'ReflectStatus',
        values: {
          reinforced: 'It was known in the same or nearly the same words.',
          pending: 'It waits for a review; then it is no lesson yet.',
        },
      })
      .describe(
        'reinforced: already known; the existing lesson counts you as one more agent. pending: it waits for a review.',
      ),
    reflection,
  }),
  inferredProject: () => 'owns',
  prepare: ({ content }, embedding) => embedding.content(content),
  run: (client, input, embedded: EmbeddedText | null) =>
    call(client, 'r.status, reflection.reflection_json(r.reflection) as reflection', 'reflect', {
      ...input,
      ...vectorParameters('content_vector', embedded),
    }),
  recalls: ({ status }) => status === 'reinforced',
  summarize: ({ status, reflection: { reflection_id, times_seen, agent_count, confidence, ...lesson } }, reader) =>
    status === 'inserted'
      ? `Kept as ${reflection_id}.`
      : `Known already: ${reflection_id}${byline(lesson, reader)}, told ${times_seen} times, confidence now ${confidence.toFixed(2)} by ${counted(agent_count, 'agent')}.`,
});
