import { z } from 'zod';
import { counted, fraction, oneLine, whole } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { signed, writer } from './standing.ts';

const step = z
  .object({
    source_entity: z.string(),
    relationship_type: z.string(),
    target_entity: z.string(),
    direction: z.string().describe('outgoing: from source to target; incoming: from target to source.'),
    confidence: z.number(),
    relationship_ids: z.array(uuidText()),
    ...writer,
  })
  .register(graphqlTypes, { name: 'GraphStep', description: 'One relation on a path.' });

const path = z
  .object({
    entity: z.string().describe('The entity reached.'),
    confidence: z.number().describe('The product of the confidences of the steps.'),
    depth: z.int(),
    steps: z.array(step),
  })
  .register(graphqlTypes, { name: 'GraphPath', description: 'An entity that was reached, and the best path to it.' });

const alias = z
  .object({
    alias: z.string(),
    entity: z.string(),
    creator: z.string().describe('Who stated it.'),
    confirmed_by: z.string().nullable().describe('The administrator whose word it is; null: nobody confirmed it.'),
    alias_id: uuidText(),
  })
  .register(graphqlTypes, { name: 'NamedAlias', description: 'An alias that was applied, and whose word it is.' });

export const aliases = z.array(alias).describe('The aliases that were applied, and whose word they are.');

/** One line where an alias was applied. */
export const aliasLine = (applied: z.output<typeof aliases>) =>
  applied.length === 0
    ? []
    : [
        `By aliases: ${applied.map((one) => `${recalled(one.alias)} = ${recalled(one.entity)} (${one.creator})`).join(', ')}.`,
      ];

const exploration = z
  .object({
    entity: z.string().describe('The entity where the search began.'),
    known_as: z.array(z.string()).describe('All its names, normalised.'),
    paths: z.array(path).describe('Each entity reached, with the best path to it, best first.'),
    edges_followed: z.int(),
    aliases,
    is_truncated: z.boolean().describe('Whether more was reachable than was followed or is shown.'),
  })
  .register(graphqlTypes, { name: 'GraphExploration', description: 'What is related to an entity.' });

const arrow = ({ relationship_type, direction, source_entity, target_entity }: z.output<typeof step>) =>
  direction === 'outgoing' ? ` —${relationship_type}→ ${target_entity}` : ` ←${relationship_type}— ${source_entity}`;

export const exploreGraph = defineOperation({
  name: 'explore_graph',
  title: 'Explore the entity graph',
  toolSet: 'knowledge',
  description:
    'List what an entity (a service, person, tool …) is related to, directly and through others, with the best path and its confidence. ' +
    'To get the memories behind it, use search_memory with mode graph.',
  input: z.strictObject({
    entity: z.string().describe('Where to begin: a name or an alias, such as billing-api.'),
    depth: whole(1, 5).default(2).describe('Maximum number of steps, 1 to 5.'),
    types: z.array(z.string()).nullish().describe('Only relations of these types, such as depends_on.'),
    min_confidence: fraction.default(0).describe('Drop paths with a lower confidence.'),
    limit: whole(1, 500).default(50).describe('Maximum number of entities, 1 to 500.'),
  }),
  output: exploration,
  isReadOnly: true,
  run: async (client, input) => {
    const row = await call<{ exploration: z.output<typeof exploration> }>(
      client,
      'to_jsonb(r) as exploration',
      'explore_graph',
      input,
    );
    return row.exploration;
  },
  recalls: ({ paths }) => paths.length > 0,
  summarize: ({ entity, paths, is_truncated, aliases }, reader) => {
    if (paths.length === 0) return `Nothing is known to be related to ${recalled(entity)}, among what you may read.`;
    const lines = paths.map(
      ({ steps, confidence }) =>
        `${confidence.toFixed(2)} ${signed(recalled(oneLine(`${entity}${steps.map(arrow).join('')}`)), steps, reader)}`,
    );
    const more = is_truncated ? ', and there are more' : '';
    return `${counted(paths.length, 'entity', 'entities')} reached from ${recalled(entity)}${more}.\n${[...aliasLine(aliases), ...lines].join('\n')}`;
  },
});
