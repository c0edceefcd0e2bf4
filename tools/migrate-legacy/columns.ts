// Maps the columns of an old table to fields. Names are compared without case and underscores: user_id equals userId.

export interface Column {
  name: string;
  /** The type as PostgreSQL writes it, such as timestamp with time zone. */
  type: string;
  family: Family;
  isGenerated: boolean;
  /** The dimensions of a vector, if its type states them. */
  dimensions: number | null;
}

export type Family =
  | 'text'
  | 'number'
  | 'boolean'
  | 'uuid'
  | 'json'
  | 'instant'
  | 'local time'
  | 'interval'
  | 'texts'
  | 'numbers'
  | 'vector'
  | 'search'
  | 'other';

const TEXT: Family[] = ['text'];
const NAME: Family[] = ['text', 'uuid', 'number'];
const TIME: Family[] = ['instant', 'local time', 'number', 'text'];

interface Field {
  names: string[];
  families: Family[];
}

const memoryFields = {
  user: { names: ['user_id', 'user', 'owner_id', 'owner'], families: NAME },
  kind: { names: ['kind', 'packet_type', 'memory_type', 'type', 'category'], families: TEXT },
  content: { names: ['content', 'text', 'body', 'memory', 'message', 'value'], families: ['text', 'json'] },
  scope: { names: ['scope', 'memory_scope', 'visibility'], families: TEXT },
  metadata: { names: ['metadata', 'meta', 'attributes'], families: ['json', 'text'] },
  importance: { names: ['importance_score', 'importance', 'salience'], families: ['number', 'text'] },
  embedding: {
    names: ['embedding', 'vector', 'content_embedding', 'embeddings'],
    families: ['vector', 'numbers', 'json', 'text'],
  },
  embeddingModel: { names: ['embedding_model', 'model'], families: TEXT },
  created: { names: ['created_at', 'created', 'timestamp', 'created_on', 'inserted_at', 'ts'], families: TIME },
  updated: { names: ['updated_at', 'updated', 'modified_at', 'last_modified'], families: TIME },
  expires: {
    names: ['expires_at', 'expires', 'expire_at', 'expiry', 'expiration', 'valid_until', 'ttl', 'ttl_seconds'],
    families: [...TIME, 'interval'],
  },
  deleted: { names: ['deleted_at', 'is_deleted', 'deleted'], families: ['instant', 'local time', 'boolean'] },
  project: { names: ['project_id', 'project', 'project_name', 'repository', 'repo'], families: NAME },
  tags: { names: ['tags', 'labels', 'keywords'], families: ['texts', 'json', 'text'] },
  thread: { names: ['thread_id', 'thread', 'conversation_id'], families: NAME },
  session: { names: ['session_id', 'session'], families: NAME },
  correlation: { names: ['correlation_id'], families: NAME },
  trace: { names: ['trace_id'], families: NAME },
  creator: { names: ['creator', 'created_by', 'author'], families: TEXT },
  source: { names: ['source'], families: TEXT },
  agent: { names: ['agent', 'agent_id', 'agent_name'], families: TEXT },
  accessCount: { names: ['access_count', 'accesses', 'hit_count'], families: ['number'] },
  lastAccessed: { names: ['last_accessed', 'last_accessed_at', 'accessed_at'], families: TIME },
} satisfies Record<string, Field>;

const auditFields = {
  operation: { names: ['operation', 'action', 'op', 'event_type', 'event', 'type'], families: TEXT },
  time: { names: ['occurred_at', 'created_at', 'created', 'timestamp', 'logged_at', 'ts', 'at'], families: TIME },
  table: { names: ['table_name', 'target_table', 'tier', 'memory_table'], families: TEXT },
  row: { names: ['row_id', 'memory_id', 'packet_id', 'record_id', 'entity_id', 'target_id'], families: NAME },
  caller: { names: ['caller', 'actor', 'performed_by', 'user_id', 'agent', 'agent_id'], families: NAME },
  creator: { names: ['creator'], families: TEXT },
  source: { names: ['source'], families: TEXT },
  tool: { names: ['tool_name', 'tool'], families: TEXT },
  status: { names: ['status', 'success', 'result', 'outcome'], families: ['text', 'boolean'] },
  sqlstate: { names: ['sqlstate', 'error_code'], families: TEXT },
  scope: { names: ['scope'], families: TEXT },
  project: { names: ['project_id', 'project'], families: NAME },
  details: { names: ['details', 'metadata', 'payload', 'data'], families: ['json', 'text'] },
} satisfies Record<string, Field>;

export type MemoryField = keyof typeof memoryFields;
export type AuditField = keyof typeof auditFields;
export type Mapping<F extends string> = Partial<Record<F, Column>>;

const plain = (name: string) => name.toLowerCase().replaceAll('_', '');

function mapColumns<F extends string>(columns: Column[], fields: Record<F, Field>, key: string): Mapping<F> {
  const mapping: Mapping<F> = {};
  const taken = new Set([key]);
  for (const [field, { names, families }] of Object.entries<Field>(fields) as [F, Field][]) {
    const found = names
      .flatMap((name) => columns.filter((column) => plain(column.name) === plain(name)))
      .find(({ name, family }) => families.includes(family) && !taken.has(name));
    if (!found) continue;
    taken.add(found.name);
    mapping[field] = found;
  }
  return mapping;
}

export const mapMemoryColumns = (columns: Column[], key: string) => mapColumns(columns, memoryFields, key);
export const mapAuditColumns = (columns: Column[], key: string) => mapColumns(columns, auditFields, key);

/** True for a column that is computed from others, so that it can be left out. */
export const isDerived = ({ family, isGenerated }: Column) => isGenerated || family === 'search';

const families: Record<string, Family> = {
  text: 'text',
  'character varying': 'text',
  character: 'text',
  name: 'text',
  citext: 'text',
  smallint: 'number',
  integer: 'number',
  bigint: 'number',
  numeric: 'number',
  real: 'number',
  'double precision': 'number',
  boolean: 'boolean',
  uuid: 'uuid',
  json: 'json',
  jsonb: 'json',
  'timestamp with time zone': 'instant',
  'timestamp without time zone': 'local time',
  date: 'local time',
  interval: 'interval',
  vector: 'vector',
  halfvec: 'vector',
  tsvector: 'search',
  'text[]': 'texts',
  'character varying[]': 'texts',
  'real[]': 'numbers',
  'double precision[]': 'numbers',
  'numeric[]': 'numbers',
};

/** `base` is the type without its modifier and schema. */
export const familyOf = (base: string, isEnum: boolean): Family => (isEnum ? 'text' : (families[base] ?? 'other'));
