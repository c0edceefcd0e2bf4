export {
  L9Memory,
  type L9MemoryOptions,
  type ListOptions,
  type Relation,
  type Saved,
  type SaveManyResult,
  type StoreItem,
  type Updated,
} from './client.ts';
export type { EmbeddedOptions } from './embedded.ts';
export { type GraphqlError, L9MemoryError, type SecretFinding } from './errors.ts';
export type {
  ErrorCode,
  Fact,
  Feedback,
  FindFactsVariables,
  FindResult,
  FoundMemory,
  JsonObject,
  JsonValue,
  Memory,
  MemoryFilter,
  MemoryFindVariables,
  MemoryHit,
  MemoryOrderBy,
  NearestMemory,
  RecordFeedbackInput,
  Relationship,
  SaveMemoryInput,
  SearchMemoryVariables,
  SearchResult,
  SimilarMemory,
  StoredItem,
  StoreError,
  UpdateMemoryInput,
} from './generated.ts';
export { type Page, Pages } from './pages.ts';
export type { CallOptions } from './transport.ts';
