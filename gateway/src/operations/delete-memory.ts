import { z } from 'zod';
import { expectedVersion, packetId } from './fields.ts';
import { uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';

export const deleteMemory = defineOperation({
  name: 'delete_memory',
  title: 'Delete a memory',
  toolSet: 'core',
  description:
    'Delete a memory and everything derived from it. You can delete only memories you wrote, unless you are an admin.',
  input: z.strictObject({ packet_id: packetId, expected_version: expectedVersion.nullish() }),
  output: z.object({ status: z.literal('deleted'), packet_id: uuidText() }),
  isDestructive: true,
  audit: 'DELETE',
  run: (client, input) => call(client, "'deleted' as status, r as packet_id", 'delete_memory', input),
  summarize: ({ packet_id }) => `Deleted ${packet_id}.`,
});
