// searchMemory and memoryStats (queries), saveMemory, recordFeedback, updateMemory, deleteMemory,
// deleteExpiredMemories (mutations).
import { access, lambda, type Step } from 'postgraphile/grafast';
import { parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import { hit, searched, similarMemory } from '../../operations/fields.ts';
import { fieldsOf } from '../../operations/sdl.ts';
import {
  args,
  block,
  described,
  fieldsThat,
  inputs,
  operationOf,
  payload,
  plansOf,
  type RunOperation,
} from './run-operation.ts';

const times = { timestamp: 'Datetime', oldest: 'Datetime', newest: 'Datetime', given_at: 'Datetime' };

const hitFields = fieldsOf(hit, 'output', times);
const similarFields = fieldsOf(similarMemory, 'output', { packet_id: 'UUID' });
const searchedFields = fieldsOf(searched, 'output');
const feedbackFields = fieldsOf(operationOf('record_feedback').output, 'output', times);
const statsFields = fieldsOf(operationOf('get_memory_stats').output, 'output', times);

const typeDefs = `
  enum SearchMode {
    "By words and by meaning."
    hybrid
    "By words only."
    lexical
    "By meaning only."
    semantic
    "By the relations of the entities that the query names."
    graph
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

export function operationsPlugin(run: RunOperation) {
  return extendSchema((build) => {
    const memories = build.pgResources.memory!;
    const memoryOf = ($id: Step) => memories.get({ packet_id: $id } as never);
    const { query, mutation } = fieldsThat(run);
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
