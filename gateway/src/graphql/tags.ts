// What is particular to GraphQL: names and behaviours. Meaning is in the comments of the database, permissions in its grants.
import { jsonPgSmartTags } from 'postgraphile/utils';

// Its index is for what the database asks itself.
const unsearchable = { behavior: '-condition -orderBy -attribute:filterBy -attribute:orderBy' };
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
          // What was learned since has the plain names: packet_store_importance_score() and its like.
          importance_score: { tags: { name: 'estimated_importance', ...searchable } },
          access_count: { tags: { behavior: '-*' } },
          last_accessed: { tags: { behavior: '-*' } },
          contradiction_count: { tags: { behavior: '-*' } },
          ttl: { tags: unsearchable },
        },
      },
      'public.packet_versions': {
        tags: { name: 'memory_version' },
        attribute: {
          packet_type: { tags: { name: 'kind' } },
          tenant_id: { tags: unsearchable },
          valid_until: { tags: unsearchable },
        },
      },
      'public.memory_access_log': {
        tags: {
          name: 'memory_access',
          primaryKey: 'access_id',
          foreignKey:
            '(target_id) references public.packet_store (packet_id)|@fieldName memory|@foreignFieldName accesses',
        },
        attribute: Object.fromEntries(
          ['target_id', 'agent_id', 'access_context', 'accessed_at', 'was_useful'].map((name) => [
            name,
            { tags: searchable },
          ]),
        ),
      },
      // Seen in memory_access_log, and as fields of the memory.
      'public.memory_feedback': { tags: { behavior: '-*' } },
      'public.memory_signals': { tags: { behavior: '-*' } },
      'public.memory_tombstones': { attribute: { packet_type: { tags: { name: 'kind' } } } },
      // A row of the matrix is a cell of it.
      'public.access_matrix': { tags: { name: 'access_matrix_cell' } },
      'public.memory_embeddings': {
        tags: { name: 'memory_embedding' },
        attribute: { vector: { tags: { behavior: '-*' } } },
      },
      'public.audit_log': {
        // The id alone is unique; the time is in the key because it says which partition.
        tags: { unique: 'audit_id' },
        attribute: {
          xid: { tags: { behavior: '-*' } },
          ...Object.fromEntries(
            ['occurred_at', 'operation', 'table_name', 'row_id', 'caller', 'status'].map((name) => [
              name,
              { tags: searchable },
            ]),
          ),
        },
      },
      'public.audit_seals': {
        attribute: Object.fromEntries(
          ['audit_ids', 'row_hashes', 'from_xid', 'to_xid'].map((name) => [name, { tags: { behavior: '-*' } }]),
        ),
      },
      // What it says is in the memories themselves; a search is what it is for.
      'public.memory_contexts': { tags: { behavior: '-*' } },
      'public.audit_query_texts': { tags: { behavior: '-*' } },
      // Callers have no use for the bookkeeping of retries.
      'public.idempotency_keys': { tags: { behavior: '-*' } },
      'public.save_result': { tags: { behavior: '-*' } },
      'public.similar_memory': { tags: { behavior: '-*' } },
      'public.search_result': { tags: { behavior: '-*' } },
      'public.memory_hit': { tags: { behavior: '-*' } },
      'public.memory_stats': { tags: { behavior: '-*' } },
    },
    constraint: {
      'public.packet_versions.packet_versions_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'versions' },
      },
      'public.memory_embeddings.memory_embeddings_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'embeddings' },
      },
    },
    procedure: {
      // What the payload of a mutation calls its result.
      ...Object.fromEntries(
        Object.entries({
          tenant: ['create_tenant', 'deactivate_tenant', 'reactivate_tenant', 'set_query_text_audit'],
          org: ['create_org', 'deactivate_org', 'reactivate_org'],
          user: ['create_user', 'deactivate_user', 'reactivate_user'],
          scope: ['register_scope', 'deactivate_scope', 'reactivate_scope'],
          actor: ['register_actor', 'deactivate_actor', 'reactivate_actor', 'bind_login'],
          searchSettings: ['set_search_settings'],
          apiKey: ['create_api_key', 'revoke_api_key'],
        }).flatMap(([resultFieldName, names]) =>
          names.map((name) => [`public.${name}`, { tags: { resultFieldName } }]),
        ),
      ),
      // Offered by the operations plugin, which turns text into vectors on the way and records refusals.
      ...Object.fromEntries(
        [
          'save_memory',
          'search_memory',
          'get_memory',
          'record_feedback',
          'update_memory',
          'delete_memory',
          'delete_expired_memories',
          'get_memory_stats',
          'register_embedding_model',
          // Sets claims, for psql: through this door they come from the token.
          'act_as',
        ].map((name) => [`public.${name}`, { tags: { behavior: '-*' } }]),
      ),
      // It writes its audit row, hence volatile; to whoever asks it is a query all the same.
      'public.memory_history': {
        tags: { behavior: '-mutationField +queryField -connection +list' },
      },
    },
  },
} as never);
