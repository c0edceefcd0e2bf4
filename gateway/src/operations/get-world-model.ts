import { z } from 'zod';
import { MAX_INTEGER, object, oneLine, uuid, whole } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { byline, type Reader, signed, writer } from './standing.ts';
import { worldProject, worldScope } from './update-world-model.ts';

const setters = z.record(z.string(), z.object({ ...writer, packet_id: z.string(), is_from_admin: z.boolean() }));

const entity = z
  .object({
    entity_id: z.string(),
    entity_type: z.string(),
    attributes: object,
    confidence: z.number(),
    version: z.int().nullable(),
    source_packet: uuidText().describe('The memory behind the last update that counts.'),
    ...writer,
    set_by: setters.describe('Who set each attribute: creator, source, the memory (packet_id) and is_from_admin.'),
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

function lineOf(row: z.output<typeof entity>, reader: Reader): string {
  const { entity_id, entity_type, attributes, set_by } = row;
  const line = `${recalled(oneLine(entity_id))} (${recalled(entity_type)}): ${recalled(attributes)}`;
  const setters = Object.entries(set_by);
  const writers = new Set(setters.map(([, setter]) => byline(setter, reader)));
  if (writers.size <= 1) return signed(line, setters.length > 0 ? [setters[0]![1]] : [row], reader);
  const named = setters.flatMap(([key, setter]) => {
    const by = byline(setter, reader);
    return by ? [`${recalled(key)}${by}`] : [];
  });
  return `[${named.join(', ')}] ${line}`;
}

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
  recalls: ({ entities }) => entities.length > 0,
  summarize: ({ version, entities, entity_count }, reader) => {
    const left = entity_count - entities.length;
    const lines = entities.map((it) => lineOf(it, reader));
    return [`The world at version ${version}:`, ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join('\n');
  },
});
