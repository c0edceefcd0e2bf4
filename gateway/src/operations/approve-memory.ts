import { z } from 'zod';
import { object, tags, expectedVersion as version } from './fields.ts';
import { call, defineOperation } from './operation.ts';
import { decidedRows, decisions, expectedVersion, packetIds, told } from './review-decision.ts';

export const approveMemory = defineOperation({
  name: 'approve_memory',
  title: 'Approve memories',
  toolSet: 'review',
  description:
    'Reviewers: make memories that wait for a review count. Of one memory, text, title, tags and fields can be changed in the same step.',
  input: z.strictObject({
    packet_ids: packetIds,
    text: z.string().nullish().describe('With one id: its text, corrected.'),
    title: z.string().nullish().describe('With one id: its title, where its kind has one.'),
    tags: tags.nullish(),
    fields: object.nullish().describe('With one id: fields to change; null removes one.'),
    reason: z.string().nullish().describe('A note for its writer, at most 1000 bytes.'),
    expected_version: version.describe(expectedVersion).nullish(),
  }),
  output: decisions,
  isIdempotent: true,
  audit: 'APPROVE',
  run: (client, input) => call(client, decidedRows, 'approve_memory', input),
  summarize: ({ decided }) => told(decided),
});
