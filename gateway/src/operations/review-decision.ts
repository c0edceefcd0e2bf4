// What reviewers are told of each memory that they decided about, and fields that their operations share.
import { z } from 'zod';
import { counted, uuid } from './fields.ts';
import { graphqlTypes, memoryRelation, timeText, uuidText } from './graphql-types.ts';

export const packetIds = z
  .array(uuid)
  .min(1, 'give 1 to 500 ids')
  .max(500, 'at most 500')
  .describe('Ids of 1 to 500 memories: all or none.');

export const expectedVersion =
  'Of one memory: its updated_at as you read it. If it has changed since, nothing is written.';

export const decision = z
  .object({
    packet_id: uuidText(),
    status: z
      .enum(['approved', 'rejected', 'pending', 'merged'])
      .register(graphqlTypes, { name: 'String' })
      .describe('approved, rejected, pending, or merged: joined with another memory.'),
    kind: z.string(),
    scope: z.string(),
    project_id: z.string().nullable(),
    updated_at: timeText().describe('When it was last changed: its version.'),
    merged_into: uuidText().nullable().describe('The memory that it was joined with.'),
  })
  .register(graphqlTypes, {
    name: 'ReviewDecision',
    description: 'What became of a memory that a reviewer decided about.',
    relations: {
      memory: {
        ...memoryRelation,
        description: 'The memory itself; null if it was joined with another one and is gone.',
      },
    },
  });

export const decisions = z.object({ decided: z.array(decision) });

/** Selects the rows of a function that returns decisions. */
export const decidedRows = "coalesce(jsonb_agg(to_jsonb(r)), '[]') as decided";

/** Says in one line what became of how many. */
export function told(decided: readonly z.output<typeof decision>[]): string {
  const statuses = [...new Set(decided.map(({ status }) => status))];
  return `${statuses
    .map((status) => {
      const count = decided.filter((one) => one.status === status).length;
      return `${counted(count, 'memory', 'memories')} ${status === 'pending' ? 'waiting for a review again' : status}`;
    })
    .join(', ')}.`;
}
