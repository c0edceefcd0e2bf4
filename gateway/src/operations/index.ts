// Everything that callers can do, in the order in which MCP lists it.
import { approveMemory } from './approve-memory.ts';
import { assertFact } from './assert-fact.ts';
import { confirmAlias } from './confirm-alias.ts';
import { deleteExpiredMemories } from './delete-expired-memories.ts';
import { deleteMemory } from './delete-memory.ts';
import { estimateStorageCost } from './estimate-storage-cost.ts';
import { exploreGraph } from './explore-graph.ts';
import { findFacts } from './find-facts.ts';
import { getDocument } from './get-document.ts';
import { getMemory } from './get-memory.ts';
import { getMemoryStats } from './get-memory-stats.ts';
import { getWorldModel } from './get-world-model.ts';
import { memoryFind } from './memory-find.ts';
import { memoryStore } from './memory-store.ts';
import { mergeMemories } from './merge-memories.ts';
import type { AnyOperation } from './operation.ts';
import { previewSearch } from './preview-search.ts';
import { queryCascadeMemories } from './query-cascade-memories.ts';
import { recallLessons } from './recall-lessons.ts';
import { recordFeedback } from './record-feedback.ts';
import { reflect } from './reflect.ts';
import { rejectMemory } from './reject-memory.ts';
import { retrieveSessionFromCascade } from './retrieve-session-from-cascade.ts';
import { reviewQueue } from './review-queue.ts';
import { rotateArchiveKeys } from './rotate-archive-keys.ts';
import { saveMemory } from './save-memory.ts';
import { searchMemory } from './search-memory.ts';
import { storeSessionToCascade } from './store-session-to-cascade.ts';
import { summarize } from './summarize.ts';
import { undoReview } from './undo-review.ts';
import { updateMemory } from './update-memory.ts';
import { updateWorldModel } from './update-world-model.ts';
import { verifyArchives } from './verify-archives.ts';

export const operations: readonly AnyOperation[] = [
  saveMemory,
  searchMemory,
  memoryStore,
  memoryFind,
  getMemory,
  getDocument,
  recordFeedback,
  updateMemory,
  deleteMemory,
  getMemoryStats,
  previewSearch,
  deleteExpiredMemories,
  assertFact,
  findFacts,
  exploreGraph,
  confirmAlias,
  reflect,
  recallLessons,
  updateWorldModel,
  getWorldModel,
  summarize,
  storeSessionToCascade,
  queryCascadeMemories,
  retrieveSessionFromCascade,
  verifyArchives,
  rotateArchiveKeys,
  estimateStorageCost,
  reviewQueue,
  approveMemory,
  rejectMemory,
  mergeMemories,
  undoReview,
];
