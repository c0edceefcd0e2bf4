import { z } from 'zod';
import { fraction, MAX_INTEGER, object, uuid, whole } from './fields.ts';
import { graphqlTypes, memoryRelation, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';

export const worldScope = z
  .string()
  .default('developer')
  .describe('Whose world model: developer (of a project), global or another scope of yours.');
export const worldProject = z.string().nullish().describe('The project, such as l9. Omit it in scope global.');

const entity = z.strictObject({
  entity_id: z.string().describe('Its name; case and spacing are ignored.'),
  entity_type: z.string().nullish().describe('What it is: service, person, …'),
  attributes: object.nullish().describe('Its current attributes, merged into the stored ones; null removes a key.'),
  confidence: fraction.nullish().describe('How sure you are, 0 to 1.'),
  delete: z.boolean().nullish().describe('true: it no longer exists.'),
});

const insight = z.strictObject({
  insight_type: z.string().describe('A lower-case word: observation, change, correction, …'),
  content: z.string().nullish().describe('The insight in words, saved as a memory. Required without source_packet.'),
  confidence: fraction.nullish().describe('How sure you are, 0 to 1.'),
  entities: z.array(entity).max(200, 'at most 200').nullish().describe('What it says about entities, at most 200.'),
  insight_id: uuid.nullish().describe('Your own id for it.'),
});

export const updateWorldModel = defineOperation({
  name: 'update_world_model',
  title: 'Update the world model',
  toolSet: 'knowledge',
  description:
    'Record the current state of entities and their attributes, shared with everyone who can read the scope and project. ' +
    'Pass expected_version to avoid overwriting changes you have not seen.',
  sqlFunction: 'apply_world_update',
  input: z.strictObject({
    insight: insight.describe('What you found out.'),
    expected_version: whole(0, MAX_INTEGER)
      .nullish()
      .describe(
        'Apply only if the world model is still at this version (from get_world_model); the error names the current one.',
      ),
    source_packet: uuid
      .nullish()
      .describe('The memory the insight comes from; its scope and project decide which world model changes.'),
    scope: worldScope,
    project_id: worldProject,
  }),
  output: z
    .object({
      status: z.literal('applied'),
      version: z.int().describe('The new version of the world model.'),
      audience_id: uuidText(),
      project_id: z.string().nullable(),
      update_id: uuidText(),
      source_packet: uuidText().describe('The memory the insight comes from.'),
      entities: z.array(z.string()).describe('The entities it names.'),
      outranked: z
        .array(object)
        .describe('Attributes that stayed because an administrator had set them: entity_id and keys.'),
    })
    .register(graphqlTypes, {
      relations: {
        update: {
          resource: 'world_model_updates',
          column: 'update_id',
          description: 'The update itself, with its relations.',
        },
        memory: { ...memoryRelation, key: 'source_packet', description: 'The memory the insight comes from.' },
      },
    }),
  isDestructive: true,
  audit: 'UPDATE',
  inferredProject: ({ source_packet }) => (source_packet ? null : 'owns'),
  run: (client, input) =>
    call(
      client,
      `'applied' as status, r.state_version_after as version, r.audience_id, r.project_id, r.update_id, r.source_packet,
       jsonb_path_query_array(r.entities, '$[*].entity_id') as entities, r.outranked`,
      'apply_world_update',
      input,
    ),
  summarize: ({ version, entities, outranked }) =>
    `The world is at version ${version}${entities.length > 0 ? `: ${entities.map(recalled).join(', ')}` : ''}.${
      outranked.length > 0 ? ` An administrator's word stands against ${recalled(outranked)}.` : ''
    }`,
});
