// Written by `npm run generate` from gateway/schema.graphql and operations.graphql: change those instead.

/** A value of JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of JSON. */
export type JsonObject = { [field: string]: JsonValue };

/** The documented errors of the server, and those of the client: nothing that is l9-memory answered, or not in time. */
export type ErrorCode =
  | 'SCOPE_DENIED'
  | 'NOT_YOURS'
  | 'SECRET_FOUND'
  | 'IMMUTABLE'
  | 'VERSION_CONFLICT'
  | 'INVALID_INPUT'
  | 'LIMIT_EXCEEDED'
  | 'KEY_ERROR'
  | 'INTEGRITY_ERROR'
  | 'UNAUTHENTICATED'
  | 'BUSY'
  | 'RATE_LIMITED'
  | 'DISK_FULL'
  | 'INTERNAL'
  | 'NOT_FOUND'
  | 'UNREACHABLE'
  | 'TIMEOUT';

/** Facts: subject, predicate and object, with two time axes. Validity: from valid_from to valid_to. Knowledge: from recorded_at until superseded_at or retracted_at. Every fact is computed from its rows in fact_evidence. assert_fact() and retract_fact() write this table. */
export interface Fact {
  factId: string;
  /** The entity that the fact is about, spelled as in the statement that counts most: an administrator's before an agent's, then the oldest. */
  subject: string;
  /** What the fact says of its subject: lower case, white space trimmed and collapsed. */
  predicate: string;
  /** The value: a text, number, truth value, list or object. */
  object: JsonValue;
  /** From 0 to 0.99: 1 - Π(1 - c) over the agents that state the fact, where c is the highest confidence that the agent gave. What an administrator states has the confidence of administrators alone. */
  confidence: number;
  /** How many agents state the fact. Rankings count these. */
  agentCount: number;
  /** How many agents stated a different value of the same subject and predicate that superseded this one, was superseded by it, or is outranked by an administrator's, up to the end of its validity. */
  contradictionCount: number;
  /** True if an administrator states the fact. What agents state against it while it holds is kept with superseded_by and an empty validity: it is never current. */
  isFromAdmin: boolean;
  scope: string;
  projectId: string | null;
  creator: string;
  source: string | null;
  /** Start of validity: the earliest that any of its statements gives; of a single-valued predicate, any of those that count for its confidence. */
  validFrom: string;
  /** End of validity: as stated, or when the superseding fact started to hold; valid_from for a fact that an administrator's outranks. Null: the fact still holds unless it is retracted. */
  validTo: string | null;
  /** When the fact was first asserted. */
  recordedAt: string;
  /** When a caller retracted the fact: it is not true and never was. */
  retractedAt: string | null;
  /** The memory of the statement that counts most: an administrator's before an agent's, then the oldest. fact_evidence lists all of them. */
  sourcePacket: string;
  /** The memory that states the fact which superseded this one; null if nothing did. */
  supersedingPacket: string | null;
}

/** A rating of a memory. */
export interface Feedback {
  accessId: string;
  /** The memory that was rated. */
  packetId: string;
  wasUseful: boolean;
  reason: string | null;
  givenAt: string;
}

export interface FindResult {
  hits: FoundMemory[];
  /** Where nothing matched well: up to three that may have to do with it. */
  nearest: NearestMemory[];
  searched: {
    mode: string;
    routeUsed: string;
    k: number;
    candidates: number;
    /** How many were hardly relevant. */
    leftOut: number;
    /** The projects searched; * means all. */
    projects: string[];
    /** The scopes searched. */
    scopes: string[];
    filters: JsonObject;
    /** used, unavailable, or not asked for. */
    vectors: string;
    notice: string | null;
    cut: JsonObject | null;
  };
  suggestions: ({
    /** spelling: value is another query; kind, branch: another one; archived: try include_archived. */
    reason: string;
    value: string;
    /** How many it finds, at most 100. */
    hits: number;
  })[];
}

/** A memory that memory_find found. */
export interface FoundMemory {
  packetId: string;
  /** Pass it to record_feedback. */
  accessId: string;
  title: string | null;
  fields: JsonObject;
  /** Fields are shortened; get_memory returns them. */
  isCut: boolean;
  snippet: string;
  kind: string;
  scope: string;
  projectId: string | null;
  branch: string | null;
  /** The agent that wrote it. */
  creator: string;
  /** The source of that agent. */
  source: string | null;
  /** You saved it. */
  isOwn: boolean | null;
  /** The administrator whose text it is by now. */
  textCreator: string | null;
  /** pending or rejected: it does not count, and only its creator and administrators see it. approved: it does. */
  reviewState: string | null;
  /** The memory that superseded it. */
  supersededBy: string | null;
  /** Only some of the facts that it states are superseded. */
  isPartlySuperseded: boolean | null;
  /** How likely it is relevant, 0 to 1; null without a query. */
  confidence: number | null;
  /** Orders the hits of this call. */
  score: number;
  routeUsed: string;
  updatedAt: string;
  explanation: JsonObject | null;
}

/** Memories: what agents and people asked the system to keep. Tenant, org, user, scope and project decide who may read a memory; its author never does. */
export interface Memory {
  /** UUID version 7, so ids are ordered by the time of saving. Memories imported from the old tables keep the id they had there. */
  packetId: string;
  /** The text as it was saved, at most 1 MiB. */
  content: string | null;
  /** The kind of memory, such as note, decision or section: a lower-case word of at most 63 characters. */
  kind: string;
  /** The title of a memory of a kind that has one (memory_kinds.title_field). A trigger sets it from the fields. */
  title: string | null;
  /** Decides who may read the memory: developer, l-private, global, or a scope of the tenant's own. */
  scope: string;
  /** A repository or product, such as l9. It is null exactly when the scope has no projects. */
  projectId: string | null;
  /** The branch of the repository for which the memory holds; null means every branch. It narrows searches and tells duplicates apart; it does not decide who may read the memory. */
  branch: string | null;
  /** Labels: at most 64, trimmed, without repeats. */
  tags: (string | null)[];
  /** The conversation or task that the memory belongs to. */
  threadId: string | null;
  /** The session in which the memory was written. */
  sessionId: string | null;
  /** Who said it: metadata.speaker, or the name that begins the text of a memory of kind message, as in "Ann: good morning". Null if neither names anyone. */
  speaker: string | null;
  /** The language of the content, such as german; none if its words are not stemmed. Given by the writer, or chosen among the languages of the tenant. */
  language: string;
  /** When it happened: as the writer says, at most five minutes ahead of the clock, or else when the memory was saved. */
  timestamp: string;
  /** When the memory was saved. It is stamped and never changes. */
  createdAt: string;
  /** When a caller last changed the memory. */
  updatedAt: string;
  /** When the memory expires; null means never, and so does infinity, where the rules of its kind would say otherwise. After that time nobody can find or read it, and cleanup deletes it. */
  ttl: string | null;
  /** From when on the memory is out of searches and lists, by the rules of its kind; it stays readable by its id. A trigger sets it from the fields. */
  archivedAt: string | null;
  /** How much the memory matters by the writer's own estimate, from 0 to 1. packet_store_importance_score() also takes usage and feedback into account. */
  estimatedImportance: number;
  /** How much the memory matters, from 0 to 1: computed from the writer's estimate, its kind, what agents do with it (votes, reading after a search, citations, contradictions: one voice an agent) and its age. */
  importanceScore: number | null;
  /** The content (key `content`) and the structured fields beside it. A kind of memory_kinds says which fields there are, and makes the content from them where it has text_fields. */
  envelope: JsonObject;
  /** An object of at most 64 KiB beside updated_by. creator, source, agent and tool_name are stamped from the caller that saved the memory and never change (source is extraction, and model its name, where a chat model drafted it); updated_by holds the same of the caller that changed it last, with caller and at (the time). notes (an object) and other keys are stored as given; an agent or tool_name that the client sends is kept in notes. */
  metadata: JsonObject;
  /** Ids of the memories it was derived from. Each parent is older, visible to the writer, and visible to everyone who may read this memory. */
  parentIds: (string | null)[];
  /** The memory that it is a part of, as a section is of its document. A part moves, expires and is deleted with the whole. */
  partOf: string | null;
  /** The memory that superseded this one: of its kind, or by a fact that it states. Null if the caller can read none. */
  supersededBy: string | null;
  /** Null: the memory needs no review. pending: it waits for a reviewer. approved: it counts. rejected: it is kept for its writer and reviewers until it expires. A trigger sets it by review_rules; reviewers change it. */
  reviewState: string | null;
  /** Why the memory was approved or rejected, at most 1000 bytes. */
  reviewReason: string | null;
  /** The user who owns the memory; null means the whole org. */
  userId: string | null;
}

/** A memory that a search found, and why. */
export interface MemoryHit {
  packetId: string;
  /** Pass it to record_feedback. */
  accessId: string;
  /** Truncated after 8000 characters, or a preview to stay within max_tokens; get_memory returns all of it. */
  content: string;
  /** The best matching part. */
  snippet: string;
  isTruncated: boolean;
  kind: string;
  scope: string;
  projectId: string | null;
  branch: string | null;
  tags: string[];
  threadId: string | null;
  /** Who said it. */
  speaker: string | null;
  /** The agent that wrote it. */
  creator: string;
  /** The source of that agent. */
  source: string | null;
  /** You saved it. */
  isOwn: boolean | null;
  /** The administrator whose text it is by now. */
  textCreator: string | null;
  /** pending or rejected: it does not count, and only its creator and administrators see it. approved: it does. */
  reviewState: string | null;
  /** The memory that superseded it. */
  supersededBy: string | null;
  /** Only some of the facts that it states are superseded. */
  isPartlySuperseded: boolean | null;
  /** From 0 to 1; 1 where nothing was ranked. */
  score: number;
  /** How likely it has to do with the query, 0 to 1; null when nothing was ranked. */
  relevance: number | null;
  /** Share of the words in the score; null when not found by words. */
  lexicalScore: number | null;
  /** Cosine similarity; null when not compared. */
  semanticScore: number | null;
  /** How much it matters, 0 to 1, learned from its use. */
  importance: number;
  /** The writer’s own estimate of it. */
  estimatedImportance: number;
  /** When it happened. */
  timestamp: string;
  /** When it was saved. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
  /** With explain: the retrievers that found it, their scores, graph path, chunk, weights and boosts. */
  explanation: JsonObject | null;
}

/** A memory that is nearest to a query that nothing matched well. */
export interface NearestMemory {
  packetId: string;
  snippet: string;
  kind: string;
  scope: string;
  projectId: string | null;
  /** The agent that wrote it. */
  creator: string;
  /** The source of that agent. */
  source: string | null;
  /** You saved it. */
  isOwn: boolean | null;
  /** The administrator whose text it is by now. */
  textCreator: string | null;
  /** pending or rejected: it does not count, and only its creator and administrators see it. approved: it does. */
  reviewState: string | null;
  /** The memory that superseded it. */
  supersededBy: string | null;
  /** Only some of the facts that it states are superseded. */
  isPartlySuperseded: boolean | null;
  score: number;
  /** How likely it has to do with the query, 0 to 1. */
  relevance: number | null;
}

/** The entity graph: how two entities are related, one row for each triple (source, type, target) in one tenant, org, user, project and scope. Everything but the triple is computed from relationship_evidence. relate() writes this table. */
export interface Relationship {
  /** UUID version 7, so ids are ordered by when the relationship was first stated. */
  relationshipId: string;
  /** The entity that the relationship starts from, as its source memory spells it. */
  sourceEntity: string;
  /** The type of the relationship: lower case with underscores, such as depends_on. */
  relationshipType: string;
  /** The entity that the relationship leads to, as its source memory spells it. */
  targetEntity: string;
  /** From 0 to 0.99: 1 - Π(1 - c) over the agents that state the relationship (noisy-or), where c is the highest confidence that the agent gave. What an administrator states has the confidence of administrators alone. */
  confidence: number;
  /** How many agents state the relationship. Rankings count these. */
  agentCount: number;
  /** How often the relationship was stated. */
  mentionCount: string;
  /** True if an administrator states the relationship. */
  isFromAdmin: boolean;
  scope: string;
  projectId: string | null;
  creator: string;
  /** The memory that stands for all that state the relationship: of those by administrators or, without any, by agents, the one that expires last; of several such memories, the oldest. */
  sourcePacket: string;
  /** When a memory that still exists first stated the relationship. */
  firstSeen: string;
  /** When a memory that still exists last stated the relationship. */
  lastSeen: string;
}

export interface SaveResult {
  /** skipped_dedupe: already known, memory is the existing one. updated (by a save): merged into memory. */
  status: SaveStatus;
  /** How to save this better another time, or null. */
  notice: string | null;
  /** How many secrets were replaced by [redacted: …], where the tenant has that done; null: none. */
  redacted: number | null;
  /** Memories that say nearly the same, most similar first, at most 10; null: not found out in time. */
  similar: SimilarMemory[] | null;
  memory: Memory | null;
}

export interface SearchResult {
  hits: MemoryHit[];
  /** Where nothing matched well: up to three that may have to do with it. */
  nearest: NearestMemory[];
  searched: {
    /** The mode that was used. */
    mode: string;
    k: number;
    /** How many memories were considered. */
    candidates: number;
    /** How many of the k best were less relevant than min_relevance. */
    leftOut: number;
    /** The projects searched; * means all. */
    projects: string[];
    /** The scopes searched. */
    scopes: string[];
    filters: JsonObject;
    /** used, unavailable, or not asked for. */
    vectors: string;
    minRelevance: number;
    notice: string | null;
    /** What max_tokens removed: tokens, previews, left_out. */
    cut: JsonObject | null;
  };
}

/** A memory that says nearly the same. */
export interface SimilarMemory {
  packetId: string;
  /** From 0.75 to 1; 1 means the same words. */
  similarity: number;
  /** The agent that wrote it. */
  creator: string;
  /** The source of that agent. */
  source: string | null;
  /** You saved it. */
  isOwn: boolean | null;
  /** The memory that superseded it. */
  supersededBy: string | null;
  /** pending or rejected: it does not count, and only its creator and administrators see it. approved: it does. */
  reviewState: string | null;
}

/** An item that was not stored, and why. */
export interface StoreError {
  /** The place of the item in the list, from 0. */
  index: number;
  /** As in the errors of other calls, such as INVALID_INPUT. */
  code: string;
  sqlstate: string;
  /** The field that the error is about. */
  field: string | null;
  /** What is wrong, and what is valid. */
  message: string;
  /** Where what looks like a secret stands. */
  findings: ({
    /** What it looks like. */
    pattern: string;
    /** The field, and the path in it, as in data.body_md or $.messages[3].text. */
    path: string;
    /** The line of the text, from 1. */
    line: number;
    /** The character of the line, from 1. */
    column: number;
  })[] | null;
  /** Of VERSION_CONFLICT: packet_id, updated_at and content of what is there. */
  current: JsonObject | null;
}

/** An item that is stored. */
export interface StoredItem {
  /** The place of the item in the list, from 0. */
  index: number;
  /** skipped_dedupe: already known, memory is the existing one. updated (by a save): merged into memory. */
  status: SaveStatus;
  packetId: string;
  kind: string;
  projectId: string | null;
  branch: string | null;
  createdAt: string;
  updatedAt: string;
  /** How to save this better another time, or null. */
  notice: string | null;
}

export interface UpdateResult {
  /** skipped_dedupe: already known, memory is the existing one. updated (by a save): merged into memory. */
  status: SaveStatus;
  /** How many secrets were replaced by [redacted: …], where the tenant has that done; null: none. */
  redacted: number | null;
  memory: Memory | null;
}

export interface DatetimeFilter {
  isNull?: boolean | null;
  equalTo?: string | Date | null;
  in?: (string | Date)[] | null;
  lessThan?: string | Date | null;
  lessThanOrEqualTo?: string | Date | null;
  greaterThan?: string | Date | null;
  greaterThanOrEqualTo?: string | Date | null;
}

export interface DeleteMemoryInput {
  /** Id of the memory. */
  packetId: string;
  expectedVersion?: string | Date | null;
}

export type FindMode = 'auto' | 'fast' | 'deep';

export interface FloatFilter {
  isNull?: boolean | null;
  equalTo?: number | null;
  in?: number[] | null;
  lessThan?: number | null;
  lessThanOrEqualTo?: number | null;
  greaterThan?: number | null;
  greaterThanOrEqualTo?: number | null;
}

export interface MemoryFilter {
  packetId?: UUIDFilter | null;
  kind?: StringFilter | null;
  timestamp?: DatetimeFilter | null;
  threadId?: StringFilter | null;
  archivedAt?: DatetimeFilter | null;
  projectId?: StringFilter | null;
  branch?: StringFilter | null;
  scope?: StringFilter | null;
  estimatedImportance?: FloatFilter | null;
  reviewState?: StringFilter | null;
  tenantId?: UUIDFilter | null;
  orgId?: UUIDFilter | null;
  userId?: UUIDFilter | null;
  createdAt?: DatetimeFilter | null;
  updatedAt?: DatetimeFilter | null;
  and?: MemoryFilter[] | null;
  or?: MemoryFilter[] | null;
  not?: MemoryFilter | null;
}

export type MemoryOrderBy = 'NATURAL' | 'PRIMARY_KEY_ASC' | 'PRIMARY_KEY_DESC' | 'PACKET_ID_ASC' | 'PACKET_ID_DESC' | 'KIND_ASC' | 'KIND_DESC' | 'TIMESTAMP_ASC' | 'TIMESTAMP_DESC' | 'THREAD_ID_ASC' | 'THREAD_ID_DESC' | 'ARCHIVED_AT_ASC' | 'ARCHIVED_AT_DESC' | 'PROJECT_ID_ASC' | 'PROJECT_ID_DESC' | 'BRANCH_ASC' | 'BRANCH_DESC' | 'SCOPE_ASC' | 'SCOPE_DESC' | 'ESTIMATED_IMPORTANCE_ASC' | 'ESTIMATED_IMPORTANCE_DESC' | 'REVIEW_STATE_ASC' | 'REVIEW_STATE_DESC' | 'TENANT_ID_ASC' | 'TENANT_ID_DESC' | 'ORG_ID_ASC' | 'ORG_ID_DESC' | 'USER_ID_ASC' | 'USER_ID_DESC' | 'CREATED_AT_ASC' | 'CREATED_AT_DESC' | 'UPDATED_AT_ASC' | 'UPDATED_AT_DESC';

export interface MemoryStoreInput {
  items: MemoryStoreItem[];
  /** Store nothing if an item fails. Default: false. */
  allOrNothing?: boolean | null;
}

/** A memory to be stored, of a kind with fields or of a free one. */
export interface MemoryStoreItem {
  /** Default: note. */
  kind?: string | null;
  /** The fields of the kind, texts unless a type is given; of a free kind, content. */
  data: unknown;
  /** As in save_memory. */
  scope?: string | null;
  projectId?: string | null;
  branch?: string | null;
  tags?: string[] | null;
  threadId?: string | null;
  speaker?: string | null;
  language?: string | null;
  timestamp?: string | Date | null;
  /** A repeat with the same key returns the first answer. */
  idempotencyKey?: string | null;
  /** How long it is kept: as its kind says, a day, 90 days, or for good. */
  ttlPolicy?: MemoryStoreItemTtlPolicy | null;
  parentIds?: string[] | null;
  /** Ids of memories that it rests on. */
  citations?: string[] | null;
  expectedVersion?: string | Date | null;
}

export type MemoryStoreItemTtlPolicy = 'default' | 'short' | 'long' | 'permanent';

export type OnSimilar = 'keep' | 'skip' | 'merge';

export interface RecordFeedbackInput {
  /** access_id of the search result. */
  accessId: string;
  /** Whether the memory helped you. */
  wasUseful: boolean;
  /** Why, in a few words; at most 1000 bytes. */
  reason?: string | null;
}

export interface RelateInput {
  source?: string | null;
  type?: string | null;
  target?: string | null;
  confidence?: number | null;
  sourcePacket?: string | null;
  scope?: string | null;
  projectId?: string | null;
}

export interface SaveMemoryInput {
  /** The text to remember, at most 1 MiB. Only a kind that makes it from its fields goes without. */
  content?: string | null;
  /** Who can see it: developer (a project’s), global (everyone’s, without project) or one of your own scopes. Default: "developer". */
  scope?: string | null;
  projectId?: string | null;
  branch?: string | null;
  /** Kind of memory, a lower-case word: note, decision, todo, section, … Default: "note". */
  kind?: string | null;
  tags?: string[] | null;
  threadId?: string | null;
  speaker?: string | null;
  language?: string | null;
  timestamp?: string | Date | null;
  parentIds?: string[] | null;
  ttl?: string | null;
  importance?: number | null;
  metadata?: unknown;
  envelope?: unknown;
  /** Where the packet was sent. */
  routing?: unknown;
  /** What it was made from. */
  provenance?: unknown;
  /** Your own reference, at most 200 bytes. */
  correlationId?: string | null;
  /** The session it was written in. */
  sessionId?: string | null;
  /** The trace it was written in. */
  traceId?: string | null;
  /** A repeat with the same key returns the first answer. 1 to 200 bytes. */
  idempotencyKey?: string | null;
  /** If a memory of this scope, project, branch and kind says nearly the same: keep both, skip this one, or merge it into the other. Default: "keep". */
  onSimilar?: OnSimilar | null;
}

export type SaveStatus = 'inserted' | 'updated' | 'skipped_dedupe';

export type SearchMode = 'hybrid' | 'lexical' | 'semantic' | 'graph';

export interface StringFilter {
  isNull?: boolean | null;
  equalTo?: string | null;
  in?: string[] | null;
  lessThan?: string | null;
  lessThanOrEqualTo?: string | null;
  greaterThan?: string | null;
  greaterThanOrEqualTo?: string | null;
}

export type TagsMatch = 'any' | 'all';

export interface UUIDFilter {
  isNull?: boolean | null;
  equalTo?: string | null;
  in?: string[] | null;
  lessThan?: string | null;
  lessThanOrEqualTo?: string | null;
  greaterThan?: string | null;
  greaterThanOrEqualTo?: string | null;
}

export interface UpdateMemoryInput {
  /** The memory to change. */
  packetId: string;
  content?: string | null;
  scope?: string | null;
  projectId?: string | null;
  branch?: string | null;
  kind?: string | null;
  tags?: string[] | null;
  threadId?: string | null;
  speaker?: string | null;
  language?: string | null;
  timestamp?: string | Date | null;
  parentIds?: string[] | null;
  ttl?: string | null;
  importance?: number | null;
  metadata?: unknown;
  envelope?: unknown;
  /** Fields to empty, since an empty value is left out: tags, parent_ids, thread_id. */
  clear?: string[] | null;
  expectedVersion?: string | Date | null;
}

export interface SaveMemoryVariables {
  input: SaveMemoryInput;
}

export type SaveMemoryAnswer = {
  /** Save something worth remembering for everyone who can read its scope: a decision, a fact, how something works, what went wrong. An exact duplicate is not saved again (skipped_dedupe); near-duplicates are listed under similar. */
  saveMemory: SaveResult | null;
};

export const SaveMemory = `mutation SaveMemory($input: SaveMemoryInput!) {
  saveMemory(input: $input) {
    ...SaveResult
  }
}

fragment Memory on Memory {
  packetId
  content
  kind
  title
  scope
  projectId
  branch
  tags
  threadId
  sessionId
  speaker
  language
  timestamp
  createdAt
  updatedAt
  ttl
  archivedAt
  estimatedImportance
  importanceScore
  envelope
  metadata
  parentIds
  partOf
  supersededBy
  reviewState
  reviewReason
  userId
}

fragment SaveResult on SaveMemoryPayload {
  status
  notice
  redacted
  similar {
    ...SimilarMemory
  }
  memory {
    ...Memory
  }
}

fragment SimilarMemory on SimilarMemory {
  packetId
  similarity
  creator
  source
  isOwn
  supersededBy
  reviewState
}`;

export interface MemoryStoreVariables {
  input: MemoryStoreInput;
}

export type MemoryStoreAnswer = {
  /** Store 1 to 500 memories that have the fields of their kind. For a plain note, save_memory is simpler. Storing again what is the same updates it; a field left out stays, null removes it. An item that fails is listed under errors, and the others are stored. */
  memoryStore: {
    stored: StoredItem[];
    errors: StoreError[];
  } | null;
};

export const MemoryStore = `mutation MemoryStore($input: MemoryStoreInput!) {
  memoryStore(input: $input) {
    stored {
      ...StoredItem
    }
    errors {
      ...StoreError
    }
  }
}

fragment StoreError on StoreError {
  index
  code
  sqlstate
  field
  message
  findings {
    pattern
    path
    line
    column
  }
  current
}

fragment StoredItem on StoredItem {
  index
  status
  packetId
  kind
  projectId
  branch
  createdAt
  updatedAt
  notice
}`;

export interface SearchMemoryVariables {
  /** What to search for, in plain words. */
  query?: string | null;
  /** Find memories similar to this one, instead of a query. */
  packetId?: string | null;
  /** How many results, 1 to 100; more for a list. Default: 10. */
  k?: number | null;
  /** hybrid: words and meaning; graph: relations of the entities named in the query. Default: "hybrid". */
  mode?: SearchMode | null;
  projectId?: string | null;
  branch?: string | null;
  scopes?: string[] | null;
  /** Only these kinds. */
  kinds?: string[] | null;
  tags?: string[] | null;
  /** Whether a memory needs any or all of the tags. Default: "any". */
  tagsMatch?: TagsMatch | null;
  /** Only this thread. */
  threadId?: string | null;
  /** Only what this person said. */
  speaker?: string | null;
  /** Only of this creator, such as Cursor-IDE. */
  creator?: string | null;
  /** Happened then or later. */
  since?: string | Date | null;
  /** Happened before then. */
  until?: string | Date | null;
  /** Search memories as they were then. */
  asOf?: string | Date | null;
  where?: unknown;
  /** Language of the query. Default: all of the tenant. */
  language?: string | null;
  minRelevance?: number | null;
  /** Drop results with a larger cosine distance, 0 to 2, such as 0.3. */
  threshold?: number | null;
  /** Trim results to about this many tokens. */
  maxTokens?: number | null;
  /** Explain each score. Default: false. */
  explain?: boolean | null;
  includeArchived?: boolean | null;
  includePending?: boolean | null;
}

export type SearchMemoryAnswer = {
  /** Search the memories you can read by words, meaning, both, or the entity graph, best first. With packet_id: similar memories. Without either: the newest. The result lists the scopes searched. */
  searchMemory: SearchResult | null;
};

export const SearchMemory = `query SearchMemory($query: String, $packetId: UUID, $k: Int, $mode: SearchMode, $projectId: String, $branch: String, $scopes: [String!], $kinds: [String!], $tags: [String!], $tagsMatch: TagsMatch, $threadId: String, $speaker: String, $creator: String, $since: Datetime, $until: Datetime, $asOf: Datetime, $where: JSON, $language: String, $minRelevance: Float, $threshold: Float, $maxTokens: Int, $explain: Boolean, $includeArchived: Boolean, $includePending: Boolean) {
  searchMemory(
    query: $query
    packetId: $packetId
    k: $k
    mode: $mode
    projectId: $projectId
    branch: $branch
    scopes: $scopes
    kinds: $kinds
    tags: $tags
    tagsMatch: $tagsMatch
    threadId: $threadId
    speaker: $speaker
    creator: $creator
    since: $since
    until: $until
    asOf: $asOf
    where: $where
    language: $language
    minRelevance: $minRelevance
    threshold: $threshold
    maxTokens: $maxTokens
    explain: $explain
    includeArchived: $includeArchived
    includePending: $includePending
  ) {
    ...SearchResult
  }
}

fragment MemoryHit on MemoryHit {
  packetId
  accessId
  content
  snippet
  isTruncated
  kind
  scope
  projectId
  branch
  tags
  threadId
  speaker
  creator
  source
  isOwn
  textCreator
  reviewState
  supersededBy
  isPartlySuperseded
  score
  relevance
  lexicalScore
  semanticScore
  importance
  estimatedImportance
  timestamp
  createdAt
  updatedAt
  explanation
}

fragment NearestMemory on NearestMemory {
  packetId
  snippet
  kind
  scope
  projectId
  creator
  source
  isOwn
  textCreator
  reviewState
  supersededBy
  isPartlySuperseded
  score
  relevance
}

fragment SearchResult on MemorySearchResult {
  hits {
    ...MemoryHit
  }
  nearest {
    ...NearestMemory
  }
  searched {
    mode
    k
    candidates
    leftOut
    projects
    scopes
    filters
    vectors
    minRelevance
    notice
    cut
  }
}`;

export interface MemoryFindVariables {
  /** Words, a question or an identifier. None: the newest. */
  query?: string | null;
  /** How many results, 1 to 100; more for a list. Default: 10. */
  k?: number | null;
  /** fast: words only; deep: all. Default: "auto". */
  mode?: FindMode | null;
  /** Only these kinds. */
  kinds?: string[] | null;
  where?: unknown;
  projectId?: string | null;
  branch?: string | null;
  scopes?: string[] | null;
  /** Happened then or later. */
  since?: string | Date | null;
  /** Happened before then. */
  until?: string | Date | null;
  /** Trim results to about this many tokens. */
  maxTokens?: number | null;
  /** Default: false. */
  explain?: boolean | null;
  includeArchived?: boolean | null;
  includePending?: boolean | null;
}

export type MemoryFindAnswer = {
  /** Find memories by kind, fields or identifier, ranked by match, recency, proximity and citations. Low confidence: nothing fits. For notes and conversations: search_memory. */
  memoryFind: FindResult | null;
};

export const MemoryFind = `query MemoryFind($query: String, $k: Int, $mode: FindMode, $kinds: [String!], $where: JSON, $projectId: String, $branch: String, $scopes: [String!], $since: Datetime, $until: Datetime, $maxTokens: Int, $explain: Boolean, $includeArchived: Boolean, $includePending: Boolean) {
  memoryFind(
    query: $query
    k: $k
    mode: $mode
    kinds: $kinds
    where: $where
    projectId: $projectId
    branch: $branch
    scopes: $scopes
    since: $since
    until: $until
    maxTokens: $maxTokens
    explain: $explain
    includeArchived: $includeArchived
    includePending: $includePending
  ) {
    ...FindResult
  }
}

fragment FindResult on MemoryFindResult {
  hits {
    ...FoundMemory
  }
  nearest {
    ...NearestMemory
  }
  searched {
    mode
    routeUsed
    k
    candidates
    leftOut
    projects
    scopes
    filters
    vectors
    notice
    cut
  }
  suggestions {
    reason
    value
    hits
  }
}

fragment FoundMemory on FoundMemory {
  packetId
  accessId
  title
  fields
  isCut
  snippet
  kind
  scope
  projectId
  branch
  creator
  source
  isOwn
  textCreator
  reviewState
  supersededBy
  isPartlySuperseded
  confidence
  score
  routeUsed
  updatedAt
  explanation
}

fragment NearestMemory on NearestMemory {
  packetId
  snippet
  kind
  scope
  projectId
  creator
  source
  isOwn
  textCreator
  reviewState
  supersededBy
  isPartlySuperseded
  score
  relevance
}`;

export interface MemoriesVariables {
  filter?: MemoryFilter | null;
  /** Conditions on fields stored in envelope: {"status": "open"}, a list for any of several, or eq, in, exists, gt, gte, lt, lte (numbers, dates), as in {"due": {"lt": "2026-12-01"}}. */
  where?: unknown;
  /** Default: ["PRIMARY_KEY_ASC"]. */
  orderBy?: MemoryOrderBy[] | null;
  /** Memories that the rules of their kind have archived, too. Default: false. */
  includeArchived?: boolean | null;
  /** The first rows: 50 by default, at most 1000. */
  first?: number | null;
  after?: string | null;
}

export type MemoriesAnswer = {
  memories: {
    nodes: (Memory | null)[];
    /** A sentence where not all memories could be looked at for the fields in where. */
    notice: string | null;
    pageInfo: {
      /** When paginating forwards, are there more items? */
      hasNextPage: boolean;
      /** When paginating forwards, the cursor to continue. */
      endCursor: string | null;
    };
  } | null;
};

export const Memories = `query Memories($filter: MemoryFilter, $where: JSON, $orderBy: [MemoryOrderBy!], $includeArchived: Boolean, $first: Int, $after: Cursor) {
  memories(
    filter: $filter
    where: $where
    orderBy: $orderBy
    includeArchived: $includeArchived
    first: $first
    after: $after
  ) {
    nodes {
      ...Memory
    }
    notice
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment Memory on Memory {
  packetId
  content
  kind
  title
  scope
  projectId
  branch
  tags
  threadId
  sessionId
  speaker
  language
  timestamp
  createdAt
  updatedAt
  ttl
  archivedAt
  estimatedImportance
  importanceScore
  envelope
  metadata
  parentIds
  partOf
  supersededBy
  reviewState
  reviewReason
  userId
}`;

export interface GetMemoryVariables {
  /** Id of the memory. */
  packetId: string;
}

export type GetMemoryAnswer = {
  /** Read one memory in full, by id. */
  getMemory: Memory | null;
};

export const GetMemory = `query GetMemory($packetId: UUID!) {
  getMemory(packetId: $packetId) {
    ...Memory
  }
}

fragment Memory on Memory {
  packetId
  content
  kind
  title
  scope
  projectId
  branch
  tags
  threadId
  sessionId
  speaker
  language
  timestamp
  createdAt
  updatedAt
  ttl
  archivedAt
  estimatedImportance
  importanceScore
  envelope
  metadata
  parentIds
  partOf
  supersededBy
  reviewState
  reviewReason
  userId
}`;

export interface UpdateMemoryVariables {
  input: UpdateMemoryInput;
}

export type UpdateMemoryAnswer = {
  /** Change the given fields of a memory and keep the rest. Only memories you wrote, unless you are an admin. */
  updateMemory: UpdateResult | null;
};

export const UpdateMemory = `mutation UpdateMemory($input: UpdateMemoryInput!) {
  updateMemory(input: $input) {
    ...UpdateResult
  }
}

fragment Memory on Memory {
  packetId
  content
  kind
  title
  scope
  projectId
  branch
  tags
  threadId
  sessionId
  speaker
  language
  timestamp
  createdAt
  updatedAt
  ttl
  archivedAt
  estimatedImportance
  importanceScore
  envelope
  metadata
  parentIds
  partOf
  supersededBy
  reviewState
  reviewReason
  userId
}

fragment UpdateResult on UpdateMemoryPayload {
  status
  redacted
  memory {
    ...Memory
  }
}`;

export interface DeleteMemoryVariables {
  input: DeleteMemoryInput;
}

export type DeleteMemoryAnswer = {
  /** Delete a memory and everything derived from it. You can delete only memories you wrote, unless you are an admin. */
  deleteMemory: {
    packetId: string;
  } | null;
};

export const DeleteMemory = `mutation DeleteMemory($input: DeleteMemoryInput!) {
  deleteMemory(input: $input) {
    packetId
  }
}`;

export interface FindFactsVariables {
  subject?: string | null;
  predicate?: string | null;
  object?: unknown;
  /** Default: 0. */
  minConfidence?: number | null;
  /** Also superseded and retracted facts. Default: false. */
  includeHistory?: boolean | null;
  /** Facts that were true at this time. */
  validAt?: string | Date | null;
  /** Only this scope. */
  scope?: string | null;
  projectId?: string | null;
  /** Maximum number of facts. Default: 20. */
  k?: number | null;
}

export type FindFactsAnswer = {
  /** Find facts by subject, predicate or object, most confident first. */
  findFacts: (Fact | null)[] | null;
};

export const FindFacts = `query FindFacts($subject: String, $predicate: String, $object: JSON, $minConfidence: Float, $includeHistory: Boolean, $validAt: Datetime, $scope: String, $projectId: String, $k: Int) {
  findFacts(
    subject: $subject
    predicate: $predicate
    object: $object
    minConfidence: $minConfidence
    includeHistory: $includeHistory
    validAt: $validAt
    scope: $scope
    projectId: $projectId
    k: $k
  ) {
    ...Fact
  }
}

fragment Fact on Fact {
  factId
  subject
  predicate
  object
  confidence
  agentCount
  contradictionCount
  isFromAdmin
  scope
  projectId
  creator
  source
  validFrom
  validTo
  recordedAt
  retractedAt
  sourcePacket
  supersedingPacket
}`;

export interface RelateVariables {
  input: RelateInput;
}

export type RelateAnswer = {
  /** States that source is related to target: relate('billing', 'depends_on', 'postgres'). Stating it again counts a mention; each further agent raises its confidence. source_packet: the memory that states it and decides where it is visible; left out, one of kind fact is saved in scope and project_id; the answer is null while that waits for a review. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT. */
  relate: {
    relationship: Relationship | null;
  } | null;
};

export const Relate = `mutation Relate($input: RelateInput!) {
  relate(input: $input) {
    relationship {
      ...Relationship
    }
  }
}

fragment Relationship on EntityRelationship {
  relationshipId
  sourceEntity
  relationshipType
  targetEntity
  confidence
  agentCount
  mentionCount
  isFromAdmin
  scope
  projectId
  creator
  sourcePacket
  firstSeen
  lastSeen
}`;

export interface RecordFeedbackVariables {
  input: RecordFeedbackInput;
}

export type RecordFeedbackAnswer = {
  /** After using a search result, say whether it was useful. Useful memories rank higher, for everyone. A later rating replaces the earlier one. */
  recordFeedback: {
    feedback: Feedback;
  } | null;
};

export const RecordFeedback = `mutation RecordFeedback($input: RecordFeedbackInput!) {
  recordFeedback(input: $input) {
    feedback {
      ...Feedback
    }
  }
}

fragment Feedback on MemoryFeedback {
  accessId
  packetId
  wasUseful
  reason
  givenAt
}`;
