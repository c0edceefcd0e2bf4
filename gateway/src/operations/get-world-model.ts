import { z } from 'zod';
import { MAX_INTEGER, object, uuid, whole } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { worldProject, worldScope } from './update-world-model.ts';

const entity = z
  .object({
    entity_id: z.string(),
    entity_type: z.string(),
    attributes: object,
    confidence: z.number(),
    version: z.int().nullable(),
    source_packet: uuidText().describe('The memory behind the last update that counts.'),
    set_by: object.describe('Who set each attribute: creator and is_from_admin.'),
  })
  .register(graphqlTypes, { name: 'WorldEntity', description: 'An entity of a world model.' });

const world = z
  .object({
    audience_id: uuidText(),
    scope: z.string(),
    project_id: z.string().nullable(),
    version: z.int().describe('Pass it as expected_version to update_world_model.'),
    entity_count: z.int().describe('How many entities match; the list may be shorter.'),
    entities: z.array(entity),
  })
  .register(graphqlTypes, { name: 'WorldModel', description: 'A world model at one of its versions.' });

export const getWorldModel = defineOperation({
  name: 'get_world_model',
  title: 'Get the world model',
  toolSet: 'knowledge',
  description: 'Read the current state of entities and their attributes, or the state at an earlier version.',
  input: z.strictObject({
    scope: worldScope,
    project_id: worldProject,
    entity_ids: z.array(z.string()).max(1000, 'at most 1000').nullish().describe('Only these entities.'),
    entity_type: z.string().nullish().describe('Only entities of this type.'),
    version: whole(0, MAX_INTEGER).nullish().describe('The state at this version. Default: the current one.'),
    max_entities: whole(1, 1000).default(100).describe('Maximum number of entities, 1 to 1000.'),
    audience_id: uuid.nullish().describe('Another world model you can read, such as that of your org.'),
  }),
  output: world,
  isReadOnly: true,
  inferredProject: ({ audience_id }) => (audience_id ? null : 'owns'),
  run: async (client, input) => {
    const row = await call<{ world: z.output<typeof world> }>(client, 'to_jsonb(r) as world', 'get_world_model', input);
    return row.world;
  },
  summarize: ({ version, entities, entity_count }) => {
    const left = entity_count - entities.length;
    const lines = entities.map((it) => `${it.entity_id} (${it.entity_type}): ${JSON.stringify(it.attributes)}`);
    return [`The world at version ${version}:`, ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join('\n');
  },
});
