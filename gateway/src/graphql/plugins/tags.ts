// Names and behaviours that only GraphQL has. Meaning is in the comments of the database, permissions are in its grants.
import { jsonPgSmartTags } from 'postgraphile/utils';

type Tags = Record<string, string>;

const hidden = { behavior: '-*' };
const searchable = { behavior: '+attribute:filterBy +attribute:orderBy' };
// Its index serves queries of the database itself.
const unsearchable = { behavior: '-attribute:filterBy -attribute:orderBy' };

const toMemory = '(source_packet) references public.packet_store (packet_id)';
const withoutList = '@behavior -manyRelation:resource:connection -manyRelation:resource:list';

interface Rules {
  /** Those of the table itself. */
  tags?: Tags;
  /** The names of columns, separated by blanks. */
  searchable?: string;
  hidden?: string;
  /** Columns with tags of their own. */
  columns?: Record<string, Tags>;
}

const tables: Record<string, Rules> = {
  packet_store: {
    tags: { name: 'memory' },
    searchable: 'scope project_id branch thread_id timestamp created_at updated_at',
    // reviewState says what withheldCreator does.
    hidden: 'access_count last_accessed contradiction_count withheld_creator words word_count',
    columns: {
      packet_type: { name: 'kind', ...searchable },
      // The computed values have these names: packet_store_importance_score() and similar functions.
      importance_score: { name: 'estimated_importance', ...searchable },
      ttl: unsearchable,
    },
  },
  packet_versions: {
    tags: { name: 'memory_version' },
    hidden: 'withheld_creator',
    columns: {
      packet_type: { name: 'kind' },
      importance_score: { name: 'estimated_importance' },
      tenant_id: unsearchable,
      valid_until: unsearchable,
    },
  },
  memory_access_log: {
    tags: {
      name: 'memory_access',
      primaryKey: 'access_id',
      foreignKey: '(target_id) references public.packet_store (packet_id)|@fieldName memory|@foreignFieldName accesses',
    },
    searchable: 'target_id agent_id access_context accessed_at was_useful',
  },
  memory_tombstones: { columns: { packet_type: { name: 'kind' } } },
  knowledge_facts: {
    // Memory.facts has all facts of a memory: packet_store_facts().
    tags: { name: 'fact', foreignKey: `${toMemory}|@fieldName sourceMemory|${withoutList}` },
    searchable: 'subject_normalized predicate scope project_id confidence valid_from recorded_at',
    hidden: 'audience_id',
    columns: { superseded_by: { name: 'superseded_by_id' } },
  },
  // Each row is one cell of the matrix.
  access_matrix: { tags: { name: 'access_matrix_cell' } },
  memory_embeddings: { tags: { name: 'memory_embedding' }, hidden: 'vector compared_vector' },
  audit_log: {
    // The id alone is unique; the time is in the key because it selects the partition.
    tags: { unique: 'audit_id' },
    searchable: 'occurred_at operation table_name row_id caller status',
    hidden: 'xid',
  },
  audit_seals: { hidden: 'audit_ids row_hashes from_xid to_xid' },
  reflection_store: {
    tags: { name: 'reflection' },
    searchable: 'reflection_type priority confidence times_seen agent_count last_seen project_id scope',
  },
  task_reflections: { searchable: 'task_id outcome project_id scope updated_at' },
  memory_summaries: { searchable: 'scope_type scope_value project_id scope coverage_end updated_at' },
  tasks: { searchable: 'created_at status type scope project_id caller' },
  world_model_entities: {
    tags: { foreignKey: `${toMemory}|@fieldName memory|@foreignFieldName worldModelEntities` },
    searchable: 'entity_id_normalized entity_type scope project_id audience_id',
  },
  agent_memory_events: { searchable: 'timestamp event_type agent_id scope project_id' },
  reasoning_traces: { searchable: 'created_at agent_id scope project_id' },
  world_model_updates: { searchable: 'state_version_after applied_at scope project_id audience_id' },
  world_model_snapshots: { searchable: 'state_version created_at scope project_id audience_id' },
  entity_relationships: {
    tags: {
      // The opposite relation follows the evidence: packet_store_relationships().
      foreignKey: `${toMemory}|@fieldName sourceMemory|${withoutList}`,
    },
    searchable: 'source_normalized target_normalized relationship_type scope project_id',
    // The supporting memory that expires last; `memories` has all of them.
    columns: { source_packet: unsearchable },
  },
  entity_aliases: { searchable: 'alias_normalized entity_normalized' },
};

const hiddenTables = [
  // These values are in memory_access_log and fields of the memory.
  ...['memory_feedback', 'memory_signals'],
  // These relations are offered as lessons of a task and tasks of a lesson, and as the sources of a summary.
  ...['task_reflection_lessons', 'memory_summary_sources'],
  // Computed from vectors, for old clients with database sessions.
  'semantic_memory',
  // They hold values of fields and texts of memories for searches.
  ...['field_values', 'memory_contexts', 'audit_query_texts'],
  // Callers have no use for the bookkeeping of retries.
  'idempotency_keys',
];

/** The field for the row that a foreign key names, and the list of rows that name it in turn. */
const relations: Record<string, [field: string, list: string]> = {
  'knowledge_facts.knowledge_facts_superseded_by_fkey': ['supersededBy', 'replaced'],
  'fact_evidence.fact_evidence_fact_id_fkey': ['fact', 'evidence'],
  'fact_evidence.fact_evidence_packet_id_fkey': ['memory', 'factEvidence'],
  'memory_kind_fields.memory_kind_fields_kind_id_fkey': ['memoryKind', 'fields'],
  'packet_versions.packet_versions_packet_id_fkey': ['memory', 'versions'],
  'agent_memory_events.agent_memory_events_packet_id_fkey': ['memory', 'event'],
  'reasoning_traces.reasoning_traces_packet_id_fkey': ['memory', 'reasoningTrace'],
  'world_model_updates.world_model_updates_source_packet_fkey': ['memory', 'worldModelUpdates'],
  'world_model_snapshots.world_model_snapshots_source_packet_fkey': ['memory', 'worldModelSnapshots'],
  'memory_embeddings.memory_embeddings_packet_id_fkey': ['memory', 'embeddings'],
  'relationship_evidence.relationship_evidence_relationship_id_fkey': ['relationship', 'evidence'],
  'entity_aliases.entity_aliases_source_packet_fkey': ['sourceMemory', 'entityAliases'],
};

/** The same where one row at most names it. */
const singleRelations: typeof relations = {
  'reflection_store.reflection_store_source_packet_fkey': ['memory', 'reflection'],
  'memory_summaries.memory_summaries_source_packet_fkey': ['memory', 'summary'],
  'task_reflections.task_reflections_source_packet_fkey': ['memory', 'taskReflection'],
};

const otherConstraints: Record<string, Tags> = {
  'knowledge_facts.knowledge_facts_source_is_evidence': { ...hidden, foreignBehavior: '-*' },
  'entity_relationships.relationship_source_is_evidence': hidden,
  'relationship_evidence.relationship_evidence_packet_id_fkey': {
    fieldName: 'memory',
    behavior: '-manyRelation:resource:connection -manyRelation:resource:list',
  },
};

/** The name of the result in the payload of a mutation. */
const results: Record<string, string> = {
  reflect_on_task: 'taskReflection',
  retract_fact: 'fact',
  relate: 'relationship',
  add_alias: 'alias',
  restore_world: 'update',
  snapshot_world: 'snapshot',
};

const hiddenFunctions = [
  // summarize saves summaries.
  'save_summary',
  // For administrators of the database, who use SQL.
  'register_embedding_model',
  // Answers of findFacts and exploreGraph name them.
  'applied_aliases',
  // Sets claims in psql. GraphQL takes them from the token.
  'act_as',
  // The views plugin offers it.
  'refresh_memory_views',
];

/** They are volatile because they write their audit rows; for callers they are queries. */
const volatileQueries =
  'memory_history memory_days facts_as_of diff_world trace_of due_summaries explain_access preview_find agent_recent_important entity_graph high_confidence_facts recurring_lessons reflection_patterns export_memories';

/** By name, each with what is tagged. */
const all = (names: string | readonly string[], tags: Tags) =>
  Object.fromEntries((typeof names === 'string' ? names.split(' ') : names).map((name) => [name, { tags }]));
const each = <Value>(values: Record<string, Value>, tagsOf: (value: Value) => Tags) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { tags: tagsOf(value) }]));
const inPublic = <Value>(values: Record<string, Value>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`public.${name}`, value]));

const classOf = ({ tags = {}, searchable: found = '', hidden: unseen = '', columns = {} }: Rules) => ({
  tags,
  attribute: {
    ...(found && all(found, searchable)),
    ...(unseen && all(unseen, hidden)),
    ...each(columns, (own) => own),
  },
});

export const tagsPlugin = jsonPgSmartTags({
  version: 1,
  config: {
    class: inPublic({
      ...Object.fromEntries(Object.entries(tables).map(([table, rules]) => [table, classOf(rules)])),
      ...all(hiddenTables, hidden),
    }),
    constraint: inPublic({
      ...each(relations, ([fieldName, foreignFieldName]) => ({ fieldName, foreignFieldName })),
      ...each(singleRelations, ([fieldName, foreignSingleFieldName]) => ({ fieldName, foreignSingleFieldName })),
      ...each(otherConstraints, (tags) => tags),
    }),
    procedure: inPublic({
      ...each(results, (resultFieldName) => ({ resultFieldName })),
      ...all('find_secrets memory_views_status', { behavior: '-connection +list' }),
      ...all(hiddenFunctions, hidden),
      ...all(volatileQueries, { behavior: '-mutationField +queryField -connection +list' }),
    }),
  },
});
