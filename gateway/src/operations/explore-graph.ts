// The entity graph, for agents. Relations are stated by relate and addAlias (GraphQL, SQL).
import { z } from 'zod';
import { fraction, whole } from './fields.ts';
import { call, define, type Operation } from './operation.ts';

export const exploreInput = z.strictObject({
  entity: z.string().describe('Where to begin: a name or an alias, such as billing-api.'),
  depth: whole(1, 5).default(2).describe('How many steps at most, 1 to 5.'),
  types: z.array(z.string()).nullish().describe('Only relations of these types, such as depends_on.'),
  min_confidence: fraction.default(0).describe('Leave out paths that are less sure than this.'),
  limit: whole(1, 500).default(50).describe('How many entities at most, 1 to 500.'),
});

const step = z.object({
  source_entity: z.string(),
  relationship_type: z.string(),
  target_entity: z.string(),
  direction: z.string().describe('outgoing: the path goes from source to target; incoming: the other way.'),
  confidence: z.number(),
  relationship_ids: z.array(z.string()),
});

const path = z.object({
  entity: z.string().describe('The entity reached.'),
  confidence: z.number().describe('The product of the steps.'),
  depth: z.int(),
  steps: z.array(step),
});

export const exploreOutput = z.object({
  entity: z.string().describe('Where it began.'),
  known_as: z.array(z.string()).describe('All its names, normalised.'),
  paths: z.array(path).describe('Each entity reached, with the best path to it, best first.'),
  edges_followed: z.int(),
  is_truncated: z.boolean().describe('Whether there is more than was followed or is shown.'),
});

type Step = z.output<typeof step>;

const arrow = ({ relationship_type, direction, source_entity, target_entity }: Step) =>
  direction === 'outgoing' ? ` —${relationship_type}→ ${target_entity}` : ` ←${relationship_type}— ${source_entity}`;

const exploreGraph = define({
  name: 'explore_graph',
  graphqlName: 'exploreGraph',
  title: 'Explore the entity graph',
  description:
    'What an entity (a service, person, tool …) is related to, directly and by others: each entity reached with the best path and its confidence. ' +
    'For the memories behind it use search_memory with mode graph.',
  input: exploreInput,
  output: exploreOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'READ',
  enqueuesEmbeddings: false,
  run: async (client, input) => {
    const { exploration } = await call<{ exploration: z.output<typeof exploreOutput> }>(
      client,
      'to_jsonb(r) as exploration',
      'explore_graph',
      input,
    );
    return exploration;
  },
  summarize: ({ entity, paths, is_truncated }) => {
    if (paths.length === 0) return `Nothing is known to be related to ${entity}, among what you may read.`;
    const lines = paths.map(
      ({ steps, confidence }) => `${confidence.toFixed(2)} ${entity}${steps.map(arrow).join('')}`,
    );
    const entities = paths.length === 1 ? '1 entity' : `${paths.length} entities`;
    return `${entities} reached from ${entity}${is_truncated ? ', and there are more' : ''}.\n${lines.join('\n')}`;
  },
});

export const graphOperations: readonly Operation[] = [exploreGraph];
