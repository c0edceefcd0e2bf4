import { z } from 'zod';
import { counted, whole } from './fields.ts';
import { call, defineOperation } from './operation.ts';

export const deleteExpiredMemories = defineOperation({
  name: 'delete_expired_memories',
  title: 'Clean up expired memories',
  toolSet: 'admin',
  description: 'Delete memories whose ttl has passed. Only for callers with the right to clean up, such as L.',
  input: z.strictObject({
    max_rows: whole(1, 100_000).default(10_000).describe('Maximum number to delete, 1 to 100000.'),
  }),
  output: z.object({ deleted: z.int().describe('How many were deleted.') }),
  isDestructive: true,
  isIdempotent: true,
  audit: 'CLEANUP',
  run: (client, input) => call(client, 'r::int as deleted', 'delete_expired_memories', input),
  summarize: ({ deleted }) => `${counted(deleted, 'expired memory was', 'expired memories were')} deleted.`,
});
