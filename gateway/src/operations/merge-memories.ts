import { z } from 'zod';
import { counted, expectedVersion, memory, uuid } from './fields.ts';
import { call, defineOperation } from './operation.ts';
import { decision } from './review-decision.ts';

export const mergeMemories = defineOperation({
  name: 'merge_memories',
  title: 'Merge memories',
  toolSet: 'review',
  description:
    'Reviewers: make one memory of several that say the same. What was derived from the others, their tags, parents, citations and access counts go over to the one that is kept. undo_review brings them back within 30 days.',
  input: z.strictObject({
    keep: uuid.describe('The memory that stays.'),
    others: z
      .array(uuid)
      .min(1, 'give 1 to 500 ids')
      .max(500, 'at most 500')
      .describe('The memories that go into it, of the same scope and project.'),
    text: z.string().nullish().describe('A text that says it all, for the memory that stays.'),
    expected_version: expectedVersion.describe('updated_at of keep as you read it.').nullish(),
  }),
  output: z.object({ memory, merged: z.array(decision) }),
  isDestructive: true,
  audit: 'MERGE',
  run: (client, input) =>
    call(client, 'standing.memory_json(r.memory) as memory, to_jsonb(r.merged) as merged', 'merge_memories', input),
  recalls: () => true,
  summarize: ({ memory, merged }) => `${counted(merged.length, 'memory', 'memories')} merged into ${memory.packet_id}.`,
});
