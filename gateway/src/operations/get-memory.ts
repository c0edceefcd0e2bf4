import { z } from 'zod';
import { memory, packetId } from './fields.ts';
import { call, defineOperation } from './operation.ts';
import { headed, standingOf } from './standing.ts';

export const getMemory = defineOperation({
  name: 'get_memory',
  title: 'Get a memory',
  toolSet: 'core',
  description: 'Read one memory in full, by id.',
  input: z.strictObject({ packet_id: packetId }),
  output: z.object({ memory }),
  isReadOnly: true,
  graphql: { unwrap: 'memory' },
  run: (client, input) => call(client, 'standing.memory_json(r) as memory', 'get_memory', input),
  recalls: () => true,
  summarize: ({ memory }, reader) => headed(memory.content, memory.packet_id, standingOf(memory), reader),
});
