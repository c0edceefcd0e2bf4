// What is particular to GraphQL: names and behaviours. Meaning is in the comments of the database, permissions in its grants.
import { jsonPgSmartTags } from 'postgraphile/utils';

const searchable = { behavior: '+condition +orderBy +attribute:filterBy +attribute:orderBy' };

export const tagsPlugin = jsonPgSmartTags({
  version: 1,
  config: {
    class: {
      'public.packet_store': {
        tags: { name: 'memory' },
        attribute: {
          packet_type: { tags: { name: 'kind', ...searchable } },
          scope: { tags: searchable },
          project_id: { tags: searchable },
          thread_id: { tags: searchable },
          timestamp: { tags: searchable },
          updated_at: { tags: searchable },
          importance_score: { tags: searchable },
        },
      },
      'public.memory_embeddings': {
        tags: { name: 'memory_embedding' },
        attribute: { vector: { tags: { behavior: '-*' } } },
      },
      // Callers have no use for the bookkeeping of retries.
      'public.idempotency_keys': { tags: { behavior: '-*' } },
      'public.save_result': { tags: { behavior: '-*' } },
      'public.search_result': { tags: { behavior: '-*' } },
      'public.memory_hit': { tags: { behavior: '-*' } },
      'public.memory_stats': { tags: { behavior: '-*' } },
    },
    constraint: {
      'public.memory_embeddings.memory_embeddings_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'embeddings' },
      },
    },
    // Offered by the operations plugin, which turns text into vectors on the way and records refusals.
    procedure: Object.fromEntries(
      [
        'save_memory',
        'search_memory',
        'get_memory',
        'update_memory',
        'delete_memory',
        'delete_expired_memories',
        'get_memory_stats',
        'register_embedding_model',
      ].map((name) => [`public.${name}`, { tags: { behavior: '-*' } }]),
    ),
  },
} as never);
