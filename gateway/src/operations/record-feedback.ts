import { z } from 'zod';
import { timeText, uuid } from './fields.ts';
import { graphqlTypes, memoryRelation } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';

export const recordFeedback = defineOperation({
  name: 'record_feedback',
  title: 'Rate a search result',
  toolSet: 'core',
  description:
    'After using a search result, say whether it was useful. Useful memories rank higher, for everyone. A later rating replaces the earlier one.',
  input: z.strictObject({
    access_id: uuid.describe('access_id of the search result.'),
    was_useful: z.boolean().describe('Whether the memory helped you.'),
    reason: z.string().nullish().describe('Why, in a few words; at most 1000 bytes.'),
  }),
  output: z
    .object({
      access_id: z.string(),
      packet_id: z.string().describe('The memory that was rated.'),
      was_useful: z.boolean(),
      reason: z.string().nullable(),
      given_at: timeText(),
    })
    .register(graphqlTypes, {
      name: 'MemoryFeedback',
      description: 'A rating of a memory.',
      relations: { memory: memoryRelation },
    }),
  isIdempotent: true,
  enqueuesEmbeddings: false,
  graphql: { wrap: 'feedback' },
  run: (client, input) =>
    call(
      client,
      'r.access_id, r.packet_id, r.was_useful, r.reason, to_jsonb(r.given_at) as given_at',
      'record_feedback',
      input,
    ),
  summarize: ({ packet_id, was_useful }) => `Noted: ${packet_id} was ${was_useful ? 'useful' : 'not useful'}.`,
});
