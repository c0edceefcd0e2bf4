import { z } from 'zod';
import { counted, onlyBranch, timeText } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { callForRow, defineOperation } from './operation.ts';

const counts = z.record(z.string(), z.int());

const stats = z
  .object({
    total: z.int(),
    by_kind: counts,
    by_scope: counts,
    by_project: counts,
    by_creator: counts,
    embedded: z.int().describe('How many can be found by meaning.'),
    awaiting_embedding: z.int().describe('How many can be found by words only until they are embedded.'),
    oldest: timeText().nullable(),
    newest: timeText().nullable(),
  })
  .register(graphqlTypes, { name: 'MemoryStats', description: 'Counts of the memories that the caller can read.' });

export const getMemoryStats = defineOperation({
  name: 'get_memory_stats',
  title: 'Count memories',
  toolSet: 'admin',
  description:
    'Count the memories you can read by kind, scope, project and creator, and those still waiting to be embedded.',
  input: z.strictObject({
    project_id: z.string().nullish().describe('Only this project; * for all.'),
    branch: onlyBranch.nullish(),
  }),
  output: stats,
  isReadOnly: true,
  inferredProject: () => 'narrows',
  audit: 'STATS',
  run: (client, input) => callForRow(client, 'get_memory_stats', input),
  summarize: ({ total, by_scope }) => {
    const scopes = Object.entries(by_scope).map(([scope, n]) => `${n} in ${scope}`);
    return `${counted(total, 'memory', 'memories')}${total ? `: ${scopes.join(', ')}` : ''}.`;
  },
});
