// Names and behaviours that only GraphQL has. Meaning is in the comments of the database, permissions are in its grants.
import { jsonPgSmartTags } from 'postgraphile/utils';

// Its index serves queries of the database itself.
const unsearchable = { behavior: '-attribute:filterBy -attribute:orderBy' };
const searchable = { behavior: '+attribute:filterBy +attribute:orderBy' };

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
          branch: { tags: searchable },
          thread_id: { tags: searchable },
          timestamp: { tags: searchable },
          created_at: { tags: searchable },
          updated_at: { tags: searchable },
          // The computed values have these names: packet_store_importance_score() and similar functions.
          importance_score: { tags: { name: 'estimated_importance', ...searchable } },
          access_count: { tags: { behavior: '-*' } },
          last_accessed: { tags: { behavior: '-*' } },
          contradiction_count: { tags: { behavior: '-*' } },
          ttl: { tags: unsearchable },
          words: { tags: { behavior: '-*' } },
          word_count: { tags: { behavior: '-*' } },
        },
      },
      'public.packet_versions': {
        tags: { name: 'memory_version' },
        attribute: {
          packet_type: { tags: { name: 'kind' } },
          importance_score: { tags: { name: 'estimated_importance' } },
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
      // These values are in memory_access_log and fields of the memory.
      'public.memory_feedback': { tags: { behavior: '-*' } },
      'public.memory_signals': { tags: { behavior: '-*' } },
      'public.memory_tombstones': { attribute: { packet_type: { tags: { name: 'kind' } } } },
      'public.knowledge_facts': {
        tags: {
          name: 'fact',
          // Memory.facts has all facts of a memory: packet_store_facts().
          foreignKey:
            '(source_packet) references public.packet_store (packet_id)|@fieldName sourceMemory|@foreignBehavior -*',
        },
        attribute: {
          audience_id: { tags: { behavior: '-*' } },
          superseded_by: { tags: { name: 'superseded_by_id' } },
          ...Object.fromEntries(
            ['subject_normalized', 'predicate', 'scope', 'project_id', 'confidence', 'valid_from', 'recorded_at'].map(
              (name) => [name, { tags: searchable }],
            ),
          ),
        },
      },
      // Each row is one cell of the matrix.
      'public.access_matrix': { tags: { name: 'access_matrix_cell' } },
      'public.memory_embeddings': {
        tags: { name: 'memory_embedding' },
        attribute: { vector: { tags: { behavior: '-*' } }, compared_vector: { tags: { behavior: '-*' } } },
      },
      'public.audit_log': {
        // The id alone is unique; the time is in the key because it selects the partition.
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
      'public.reflection_store': {
        tags: { name: 'reflection' },
        attribute: Object.fromEntries(
          [
            'reflection_type',
            'priority',
            'confidence',
            'times_seen',
            'agent_count',
            'last_seen',
            'project_id',
            'scope',
          ].map((name) => [name, { tags: searchable }]),
        ),
      },
      'public.task_reflections': {
        attribute: Object.fromEntries(
          ['task_id', 'outcome', 'project_id', 'scope', 'updated_at'].map((name) => [name, { tags: searchable }]),
        ),
      },
      // The relation is offered as lessons of a task and tasks of a lesson.
      'public.task_reflection_lessons': { tags: { behavior: '-*' } },
      'public.memory_summaries': {
        attribute: Object.fromEntries(
          ['scope_type', 'scope_value', 'project_id', 'scope', 'coverage_end', 'updated_at'].map((name) => [
            name,
            { tags: searchable },
          ]),
        ),
      },
      // Computed from vectors, for old clients with database sessions.
      'public.semantic_memory': { tags: { behavior: '-*' } },
      'public.tasks': {
        attribute: Object.fromEntries(
          ['created_at', 'status', 'type', 'scope', 'project_id', 'caller'].map((name) => [name, { tags: searchable }]),
        ),
      },
      'public.world_model_entities': {
        tags: {
          foreignKey:
            '(source_packet) references public.packet_store (packet_id)|@fieldName memory|@foreignFieldName worldModelEntities',
        },
        attribute: Object.fromEntries(
          ['entity_id_normalized', 'entity_type', 'scope', 'project_id', 'audience_id'].map((name) => [
            name,
            { tags: searchable },
          ]),
        ),
      },
      // The relation is offered as the sources of a summary.
      'public.memory_summary_sources': { tags: { behavior: '-*' } },
      ...Object.fromEntries(
        Object.entries({
          agent_memory_events: ['timestamp', 'event_type', 'agent_id', 'scope', 'project_id'],
          reasoning_traces: ['created_at', 'agent_id', 'scope', 'project_id'],
          world_model_updates: ['state_version_after', 'applied_at', 'scope', 'project_id', 'audience_id'],
          world_model_snapshots: ['state_version', 'created_at', 'scope', 'project_id', 'audience_id'],
        }).map(([table, columns]) => [
          `public.${table}`,
          { attribute: Object.fromEntries(columns.map((name) => [name, { tags: searchable }])) },
        ]),
      ),
      // It holds values of fields for searches.
      'public.field_values': { tags: { behavior: '-*' } },
      // It holds texts of memories for searches.
      'public.memory_contexts': { tags: { behavior: '-*' } },
      'public.audit_query_texts': { tags: { behavior: '-*' } },
      // Callers have no use for the bookkeeping of retries.
      'public.idempotency_keys': { tags: { behavior: '-*' } },
      'public.entity_relationships': {
        tags: {
          // The opposite relation follows the evidence: packet_store_relationships().
          foreignKey:
            '(source_packet) references public.packet_store (packet_id)|@fieldName sourceMemory|@behavior -manyRelation:resource:connection -manyRelation:resource:list',
        },
        attribute: {
          // The supporting memory that expires last; `memories` has all of them.
          source_packet: { tags: unsearchable },
          ...Object.fromEntries(
            ['source_normalized', 'target_normalized', 'relationship_type', 'scope', 'project_id'].map((name) => [
              name,
              { tags: searchable },
            ]),
          ),
        },
      },
      'public.entity_aliases': {
        attribute: Object.fromEntries(
          ['alias_normalized', 'entity_normalized'].map((name) => [name, { tags: searchable }]),
        ),
      },
    },
    constraint: {
      'public.knowledge_facts.knowledge_facts_superseded_by_fkey': {
        tags: { fieldName: 'supersededBy', foreignFieldName: 'replaced' },
      },
      'public.knowledge_facts.knowledge_facts_source_is_evidence': {
        tags: { behavior: '-*', foreignBehavior: '-*' },
      },
      'public.fact_evidence.fact_evidence_fact_id_fkey': {
        tags: { fieldName: 'fact', foreignFieldName: 'evidence' },
      },
      'public.fact_evidence.fact_evidence_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'factEvidence' },
      },
      'public.memory_kind_fields.memory_kind_fields_kind_id_fkey': {
        tags: { fieldName: 'memoryKind', foreignFieldName: 'fields' },
      },
      'public.packet_versions.packet_versions_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'versions' },
      },
      'public.agent_memory_events.agent_memory_events_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'event' },
      },
      'public.reasoning_traces.reasoning_traces_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'reasoningTrace' },
      },
      'public.world_model_updates.world_model_updates_source_packet_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'worldModelUpdates' },
      },
      'public.world_model_snapshots.world_model_snapshots_source_packet_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'worldModelSnapshots' },
      },
      'public.memory_embeddings.memory_embeddings_packet_id_fkey': {
        tags: { fieldName: 'memory', foreignFieldName: 'embeddings' },
      },
      'public.reflection_store.reflection_store_source_packet_fkey': {
        tags: { fieldName: 'memory', foreignSingleFieldName: 'reflection' },
      },
      'public.memory_summaries.memory_summaries_source_packet_fkey': {
        tags: { fieldName: 'memory', foreignSingleFieldName: 'summary' },
      },
      'public.task_reflections.task_reflections_source_packet_fkey': {
        tags: { fieldName: 'memory', foreignSingleFieldName: 'taskReflection' },
      },
      'public.entity_relationships.relationship_source_is_evidence': { tags: { behavior: '-*' } },
      'public.relationship_evidence.relationship_evidence_relationship_id_fkey': {
        tags: { fieldName: 'relationship', foreignFieldName: 'evidence' },
      },
      'public.relationship_evidence.relationship_evidence_packet_id_fkey': {
        tags: { fieldName: 'memory', behavior: '-manyRelation:resource:connection -manyRelation:resource:list' },
      },
      'public.entity_aliases.entity_aliases_source_packet_fkey': {
        tags: { fieldName: 'sourceMemory', foreignFieldName: 'entityAliases' },
      },
    },
    procedure: {
      'public.reflect_on_task': { tags: { resultFieldName: 'taskReflection' } },
      // The name of the result in the payload of a mutation.
      ...Object.fromEntries(
        Object.entries({
          retract_fact: 'fact',
          relate: 'relationship',
          add_alias: 'alias',
          restore_world: 'update',
          snapshot_world: 'snapshot',
        }).map(([name, resultFieldName]) => [`public.${name}`, { tags: { resultFieldName } }]),
      ),
      'public.find_secrets': { tags: { behavior: '-connection +list' } },
      'public.memory_views_status': { tags: { behavior: '-connection +list' } },
      // summarize saves summaries.
      'public.save_summary': { tags: { behavior: '-*' } },
      // For administrators of the database, who use SQL.
      'public.register_embedding_model': { tags: { behavior: '-*' } },
      // Answers of findFacts and exploreGraph name them.
      'public.applied_aliases': { tags: { behavior: '-*' } },
      // Sets claims in psql. GraphQL takes them from the token.
      'public.act_as': { tags: { behavior: '-*' } },
      // The views plugin offers it.
      'public.refresh_memory_views': { tags: { behavior: '-*' } },
      // These functions are volatile because they write their audit rows; for callers they are queries.
      ...Object.fromEntries(
        [
          'memory_history',
          'memory_days',
          'facts_as_of',
          'diff_world',
          'trace_of',
          'due_summaries',
          'explain_access',
          'agent_recent_important',
          'entity_graph',
          'high_confidence_facts',
          'recurring_lessons',
          'reflection_patterns',
        ].map((name) => [`public.${name}`, { tags: { behavior: '-mutationField +queryField -connection +list' } }]),
      ),
    },
  },
});
