// searchMemory and memoryStats (queries), saveMemory, recordFeedback, updateMemory, deleteMemory,
// deleteExpiredMemories (mutations).
import { access, context, lambda, list, type Step, sideEffect } from 'postgraphile/grafast';
import { GraphQLError, parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import type { Identity } from '../auth/identity.ts';
import { errorExtensions } from '../errors.ts';
import { operations } from '../memory/operations.ts';
import type { Outcome, Perform } from '../memory/perform.ts';
import { hit, searched, similarMemory } from '../memory/schemas.ts';
import { type Field, fieldsOf, toOperationInput } from './sdl.ts';

const byName = new Map(operations.map((operation) => [operation.name, operation]));
const operationOf = (name: string) => byName.get(name)!;

const enums = { mode: 'SearchMode', tags_match: 'TagsMatch', status: 'SaveStatus', on_similar: 'OnSimilar' };
const times = { timestamp: 'Datetime', oldest: 'Datetime', newest: 'Datetime', given_at: 'Datetime' };

const block = (fields: readonly Field[]) => fields.map(({ sdl }) => `  ${sdl}`).join('\n');

const inputs = new Map(operations.map(({ name, input }) => [name, fieldsOf(input, 'input', enums)]));
const hitFields = fieldsOf(hit, 'output', times);
const similarFields = fieldsOf(similarMemory, 'output', { packet_id: 'UUID' });
const searchedFields = fieldsOf(searched, 'output');
const feedbackFields = fieldsOf(operationOf('record_feedback').output, 'output', times);
const statsFields = fieldsOf(operationOf('get_memory_stats').output, 'output', times);

const args = (name: string) =>
  inputs
    .get(name)!
    .map(({ sdl }) => sdl)
    .join('\n    ');
const described = (name: string) => `"""${operationOf(name).description}"""`;

const typeDefs = `
  enum SearchMode {
    "By words and by meaning."
    hybrid
    "By words only."
    lexical
    "By meaning only."
    semantic
  }
  enum TagsMatch { any all }
  enum OnSimilar {
    "Save it all the same."
    keep
    "Save nothing: the memory in the answer says it."
    skip
    "Join the two: the longer text, all tags and parents. Only into a memory that the caller may change."
    merge
  }
  enum SaveStatus {
    inserted
    "Of a save: merged into the memory in the answer."
    updated
    "Nothing was saved: the memory in the answer already says it."
    skipped_dedupe
  }

  """A memory that a search found, and why."""
  type MemoryHit {
  ${block(hitFields)}
    """The memory itself, with its relations."""
    memory: Memory
  }
  """A memory that says nearly the same."""
  type SimilarMemory {
  ${block(similarFields)}
    """The memory itself, with its relations."""
    memory: Memory
  }
  """What a search looked at, so that an empty result can't be taken for a missing permission."""
  type MemorySearched {
  ${block(searchedFields)}
  }
  type MemorySearchResult { hits: [MemoryHit!]!  searched: MemorySearched! }
  """Counts of the memories that the caller may read."""
  type MemoryStats {
  ${block(statsFields)}
  }

  extend type Query {
    ${described('search_memory')}
    searchMemory(
    ${args('search_memory')}
    ): MemorySearchResult
    ${described('get_memory_stats')}
    memoryStats(
    ${args('get_memory_stats')}
    ): MemoryStats
  }

  input SaveMemoryInput {
  clientMutationId: String
  ${block(inputs.get('save_memory')!)}
  }
  input RecordFeedbackInput {
  clientMutationId: String
  ${block(inputs.get('record_feedback')!)}
  }
  input UpdateMemoryInput {
  clientMutationId: String
  ${block(inputs.get('update_memory')!)}
  }
  input DeleteMemoryInput {
  clientMutationId: String
  ${block(inputs.get('delete_memory')!)}
  }
  input DeleteExpiredMemoriesInput {
  clientMutationId: String
  ${block(inputs.get('delete_expired_memories')!)}
  }
  type SaveMemoryPayload {
    clientMutationId: String
    status: SaveStatus!
    memory: Memory
    "Memories that say nearly the same, most similar first, 10 at most; null: not found out in time."
    similar: [SimilarMemory!]
  }
  """What was said of a memory."""
  type MemoryFeedback {
  ${block(feedbackFields)}
    """The memory itself, with its relations."""
    memory: Memory
  }
  type RecordFeedbackPayload { clientMutationId: String  feedback: MemoryFeedback! }
  type UpdateMemoryPayload { clientMutationId: String  status: SaveStatus!  memory: Memory }
  type DeleteMemoryPayload { clientMutationId: String  status: String!  packetId: UUID! }
  type DeleteExpiredMemoriesPayload { clientMutationId: String  "How many were deleted." deleted: Int! }

  extend type Mutation {
    ${described('save_memory')}
    saveMemory(input: SaveMemoryInput!): SaveMemoryPayload
    ${described('record_feedback')}
    recordFeedback(input: RecordFeedbackInput!): RecordFeedbackPayload
    ${described('update_memory')}
    updateMemory(input: UpdateMemoryInput!): UpdateMemoryPayload
    ${described('delete_memory')}
    deleteMemory(input: DeleteMemoryInput!): DeleteMemoryPayload
    ${described('delete_expired_memories')}
    deleteExpiredMemories(input: DeleteExpiredMemoriesInput!): DeleteExpiredMemoriesPayload
  }
`;

/** `onRefused` is told the errors of operations that were refused: they are on the record. */
export function operationsPlugin(perform: Perform, onRefused: (identity: Identity, error: GraphQLError) => void) {
  async function run(name: string, identity: Identity, given: Record<string, unknown>) {
    const operation = operationOf(name);
    const input = toOperationInput(inputs.get(name)!, given);
    const outcome = await perform(operation, identity, operation.graphqlName, input);
    if (outcome.error) {
      const refused = new GraphQLError(outcome.error.message, { extensions: errorExtensions(outcome.error) });
      onRefused(identity, refused);
      throw refused;
    }
    return outcome as Outcome & { error: null };
  }

  return extendSchema((build) => {
    const memories = build.pgResources.memory!;
    const memoryOf = ($id: Step) => memories.get({ packet_id: $id } as never);
    const identityOf = () => access(context(), 'identity');

    const query = (name: string) => (_root: Step, fieldArgs: { getRaw(): Step }) =>
      lambda(
        list([identityOf(), fieldArgs.getRaw()]),
        async ([identity, given]) => (await run(name, identity as Identity, given as Record<string, unknown>)).output,
        false,
      );
    const mutation = (name: string) => (_root: Step, fieldArgs: { getRaw(path: string): Step }) =>
      sideEffect([identityOf(), fieldArgs.getRaw('input')], async ([identity, given]) => ({
        clientMutationId: (given as { clientMutationId?: string }).clientMutationId ?? null,
        ...(await run(name, identity as Identity, given as Record<string, unknown>)),
      }));

    const plansOf = (fields: readonly Field[]) =>
      Object.fromEntries(fields.map(({ field, key }) => [field, ($parent: Step) => access($parent, key)]));
    const payload = (plans: Record<string, ($output: Step) => Step>) => ({
      plans: {
        clientMutationId: ($payload: Step) => access($payload, 'clientMutationId'),
        ...Object.fromEntries(
          Object.entries(plans).map(([field, plan]) => [field, ($payload: Step) => plan(access($payload, 'output'))]),
        ),
      },
    });
    const saved = payload({
      status: ($output) => access($output, 'status'),
      memory: ($output) => memoryOf(access($output, ['memory', 'packet_id'])),
    });

    return {
      typeDefs: parse(typeDefs),
      objects: {
        Query: { plans: { searchMemory: query('search_memory'), memoryStats: query('get_memory_stats') } },
        Mutation: {
          plans: {
            saveMemory: mutation('save_memory'),
            recordFeedback: mutation('record_feedback'),
            updateMemory: mutation('update_memory'),
            deleteMemory: mutation('delete_memory'),
            deleteExpiredMemories: mutation('delete_expired_memories'),
          },
        },
        MemoryHit: { plans: { ...plansOf(hitFields), memory: ($hit: Step) => memoryOf(access($hit, 'packet_id')) } },
        MemorySearched: { plans: plansOf(searchedFields) },
        MemorySearchResult: {
          plans: { hits: ($r: Step) => access($r, 'hits'), searched: ($r: Step) => access($r, 'searched') },
        },
        MemoryStats: { plans: plansOf(statsFields) },
        MemoryFeedback: {
          plans: { ...plansOf(feedbackFields), memory: ($said: Step) => memoryOf(access($said, 'packet_id')) },
        },
        RecordFeedbackPayload: payload({ feedback: ($output) => $output }),
        SimilarMemory: {
          plans: { ...plansOf(similarFields), memory: ($similar: Step) => memoryOf(access($similar, 'packet_id')) },
        },
        SaveMemoryPayload: {
          plans: {
            ...saved.plans,
            // Looked for only where it is asked for.
            similar: ($payload: Step) =>
              lambda(
                access($payload, 'complete'),
                async (complete) => ((await (complete as () => Promise<unknown>)()) as { similar: unknown }).similar,
                false,
              ),
          },
        },
        UpdateMemoryPayload: saved,
        DeleteMemoryPayload: payload({
          status: ($output) => access($output, 'status'),
          packetId: ($output) => access($output, 'packet_id'),
        }),
        DeleteExpiredMemoriesPayload: payload({ deleted: ($output) => access($output, 'deleted') }),
      },
    } as never;
  });
}
