import { z } from 'zod';
import { expectedVersion as version } from './fields.ts';
import { call, defineOperation } from './operation.ts';
import { decidedRows, decisions, expectedVersion, packetIds, told } from './review-decision.ts';

export const rejectMemory = defineOperation({
  name: 'reject_memory',
  title: 'Reject memories',
  toolSet: 'review',
  description:
    'Reviewers: keep memories from counting. Their writers read the reason; after 30 days they expire. undo_review takes it back.',
  input: z.strictObject({
    packet_ids: packetIds,
    reason: z.string().describe('Why, at most 1000 bytes.'),
    expected_version: version.describe(expectedVersion).nullish(),
  }),
  output: decisions,
  isDestructive: true,
  isIdempotent: true,
  audit: 'REJECT',
  enqueuesEmbeddings: false,
  run: (client, input) => call(client, decidedRows, 'reject_memory', input),
  summarize: ({ decided }) => told(decided),
});
