import { z } from 'zod';
import { call, defineOperation } from './operation.ts';
import { decidedRows, decisions, packetIds, told } from './review-decision.ts';

export const undoReview = defineOperation({
  name: 'undo_review',
  title: 'Undo a review',
  toolSet: 'review',
  description:
    'Reviewers: take decisions back. What was approved or rejected waits for a review again; what was merged is what it was before.',
  input: z.strictObject({ packet_ids: packetIds }),
  output: decisions,
  isDestructive: true,
  audit: 'UPDATE',
  run: (client, input) => call(client, decidedRows, 'undo_review', input),
  summarize: ({ decided }) => told(decided),
});
