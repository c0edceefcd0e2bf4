// All that callers can do. The tools of MCP are made from this list, in this order, and the fields of GraphQL that need the gateway.

import { graphOperations } from './explore-graph.ts';
import { factOperations } from './facts.ts';
import { memoryOperations } from './memory.ts';
import type { Operation } from './operation.ts';
import { reflectionOperations } from './reflection.ts';
import { summaryOperations } from './summarize.ts';
import { worldModelOperations } from './world-model.ts';

export const operations: readonly Operation[] = [
  ...memoryOperations,
  ...factOperations,
  ...graphOperations,
  ...reflectionOperations,
  ...worldModelOperations,
  ...summaryOperations,
];
