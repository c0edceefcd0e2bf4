// All that callers can do. The tools of MCP are made from this list, in this order, and the fields of GraphQL that need the gateway.
import { factOperations } from './knowledge/facts.ts';
import { graphOperations } from './knowledge/graph.ts';
import { reflectionOperations } from './knowledge/reflection.ts';
import { summaryOperations } from './knowledge/summaries.ts';
import { worldModelOperations } from './knowledge/world-model.ts';
import type { Operation } from './memory/operation.ts';
import { memoryOperations } from './memory/operations.ts';

export const operations: readonly Operation[] = [
  ...memoryOperations,
  ...factOperations,
  ...graphOperations,
  ...reflectionOperations,
  ...worldModelOperations,
  ...summaryOperations,
];
