// What goes in and out of the operations on the world model. Names and ranges are those of the SQL functions.
import { z } from 'zod';
import { fraction, object, uuid, whole } from './fields.ts';

const confidence = fraction.describe('How sure, from 0 to 1.');
const scope = z
  .string()
  .default('developer')
  .describe('Whose world: developer (of a project), global, or another scope of yours.');
const projectId = z.string().nullish().describe('The project, such as l9. Left out in scope global.');

const entity = z.strictObject({
  entity_id: z.string().describe('Its name; case and spaces make no difference.'),
  entity_type: z.string().nullish().describe('What sort of thing: service, person, …'),
  attributes: object.nullish().describe('What holds of it now: merged into what is known; null takes a key away.'),
  confidence: confidence.nullish(),
  delete: z.boolean().nullish().describe('true: it is no more.'),
});

export const updateWorldInput = z.strictObject({
  insight: z
    .strictObject({
      insight_type: z.string().describe('What sort: observation, change, correction, … A lower-case word.'),
      content: z
        .string()
        .nullish()
        .describe('The insight in words. Required without source_packet: it is saved as a memory.'),
      confidence: confidence.nullish(),
      entities: z
        .array(entity)
        .max(200, 'at most 200')
        .nullish()
        .describe('What it says of which entities, 200 at most.'),
      insight_id: uuid.nullish().describe('Your own id for it.'),
    })
    .describe('What you found out.'),
  expected_version: z
    .int()
    .min(0, '0 or more')
    .nullish()
    .describe(
      'Only if the world is still at this version, as get_world_model gave it; the error names the present one.',
    ),
  source_packet: uuid
    .nullish()
    .describe('The memory that the insight comes from; the world is that of its scope and project.'),
  scope,
  project_id: projectId,
});

export const updateWorldOutput = z.object({
  status: z.literal('applied'),
  version: z.int().describe('The version that the world is at now.'),
  audience_id: z.string(),
  update_id: z.string(),
  source_packet: z.string().describe('The memory that the insight comes from.'),
  entities: z.array(z.string()).describe('The entities that it spoke of.'),
});

export const getWorldInput = z.strictObject({
  scope,
  project_id: projectId,
  entity_ids: z.array(z.string()).max(1000, 'at most 1000').nullish().describe('Only these.'),
  entity_type: z.string().nullish().describe('Only of this type.'),
  version: z.int().min(0, '0 or more').nullish().describe('As it was at this version; left out: as it is.'),
  max_entities: whole(1, 1000).default(100).describe('How many at most, 1 to 1000.'),
  audience_id: uuid.nullish().describe('Another world that you may read, such as the one your org shares.'),
});

export const getWorldOutput = z.object({
  audience_id: z.string(),
  scope: z.string(),
  project_id: z.string().nullable(),
  version: z.int().describe('For expected_version of update_world_model.'),
  entity_count: z.int().describe('How many match; entities may hold fewer.'),
  entities: z.array(
    z.object({
      entity_id: z.string(),
      entity_type: z.string(),
      attributes: object,
      confidence: z.number(),
      version: z.int().nullable(),
      source_packet: z.string().describe('The memory behind its last update.'),
    }),
  ),
});
