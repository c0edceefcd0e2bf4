// What agents hold to be so at present. Snapshots, differences and restores are for people: by SQL and GraphQL.
import type { z } from 'zod';
import { call, define, type Operation } from './operation.ts';
import { getWorldInput, getWorldOutput, updateWorldInput, updateWorldOutput } from './world-model.schemas.ts';

const updateWorldModel = define({
  name: 'update_world_model',
  graphqlName: 'applyWorldUpdate',
  title: 'Update the world model',
  description:
    'Write down what is so now: entities and their attributes, shared by all who read the scope and project. ' +
    'With expected_version nothing of others is overwritten unseen.',
  input: updateWorldInput,
  output: updateWorldOutput,
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: false,
  audit: 'UPDATE',
  enqueuesEmbeddings: true,
  run: (client, input) =>
    call<z.output<typeof updateWorldOutput>>(
      client,
      `'applied' as status, r.state_version_after as version, r.audience_id, r.update_id, r.source_packet,
       jsonb_path_query_array(r.entities, '$[*].entity_id') as entities`,
      'apply_world_update',
      input,
    ),
  summarize: ({ version, entities }) =>
    `The world is at version ${version}${entities.length > 0 ? `: ${entities.join(', ')}` : ''}.`,
});

const getWorldModel = define({
  name: 'get_world_model',
  graphqlName: 'getWorldModel',
  title: 'Get the world model',
  description: 'What is known to be so now, or was at a version: entities with their attributes, and the version.',
  input: getWorldInput,
  output: getWorldOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'READ',
  enqueuesEmbeddings: false,
  run: async (client, input) => {
    const { world } = await call<{ world: z.output<typeof getWorldOutput> }>(
      client,
      'to_jsonb(r) as world',
      'get_world_model',
      input,
    );
    return world;
  },
  summarize: ({ version, entities, entity_count }) => {
    const left = entity_count - entities.length;
    const lines = entities.map((it) => `${it.entity_id} (${it.entity_type}): ${JSON.stringify(it.attributes)}`);
    return [`The world at version ${version}:`, ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join('\n');
  },
});

export const worldModelOperations: readonly Operation[] = [updateWorldModel, getWorldModel];
