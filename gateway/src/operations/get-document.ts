import { z } from 'zod';
import { memory, uuid } from './fields.ts';
import { graphqlTypes, memoryRelation, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { headed, standingOf } from './standing.ts';

const section = z
  .object({
    packet_id: uuidText(),
    heading: z.string(),
    level: z.int().nullable(),
    position: z.number().nullable(),
  })
  .register(graphqlTypes, {
    name: 'DocumentSection',
    description: 'A section of a document, by the heading that it begins with or stands under.',
    relations: { memory: memoryRelation },
  });

export const getDocument = defineOperation({
  name: 'get_document',
  title: 'Get a document',
  toolSet: 'knowledge',
  description: 'Read a document whole, as Markdown, by its id or that of one of its sections.',
  input: z.strictObject({ packet_id: uuid.describe('Id of the document or of a section.') }),
  output: z
    .object({
      memory,
      body_md: z.string().describe('The Markdown, byte for byte as it was stored.'),
      sections: z.array(section),
    })
    .register(graphqlTypes, { name: 'WholeDocument', description: 'A document with its whole text.' }),
  isReadOnly: true,
  run: (client, input) =>
    call(client, 'standing.memory_json(r.memory) as memory, r.body_md, r.sections', 'get_document', input),
  recalls: () => true,
  summarize: ({ memory, body_md }, reader) => headed(body_md, memory.packet_id, standingOf(memory), reader),
});
