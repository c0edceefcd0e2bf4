import { z } from 'zod';
import { memory, packetId } from './fields.ts';
import { callWithin, defineOperation } from './operation.ts';
import { headed, standingOf } from './standing.ts';

// A function in the list of FROM would have its row stored first.
const as = (json: string) => (called: string) => `select ${json}(${called}) as memory`;

export const getMemory = defineOperation({
  name: 'get_memory',
  title: 'Get a memory',
  toolSet: 'core',
  description: 'Read one memory in full, by id.',
  input: z.strictObject({ packet_id: packetId }),
  output: z.object({ memory }),
  isReadOnly: true,
  graphql: { unwrap: 'memory' },
  run: (client, input) => callWithin(client, as('standing.memory_json'), 'get_memory', input),
  runForColumns: (client, input) => callWithin(client, as('memories.columns_json'), 'get_memory', input),
  recalls: () => true,
  summarize: ({ memory }, reader) => headed(memory.content, memory.packet_id, standingOf(memory), reader),
});
