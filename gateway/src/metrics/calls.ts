// Calls of operations: how many, how long, how they ended, and what came of what they stored.
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Recent } from './recent.ts';

/** The kinds of memories that l9-memory itself names. Agents and tenants make up others, which count as `other`. */
export const BUILT_IN_KINDS: ReadonlySet<string> = new Set([
  ...[
    'note',
    'decision',
    'fact',
    'message',
    'event',
    'reasoning_trace',
    'summary',
    'lesson',
    'reflection',
    'task_reflection',
    'session',
  ],
  ...['document', 'section', 'runbook', 'change', 'issue', 'todo', 'release_note', 'ddl', 'pr_context'],
]);

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface StoredItem {
  /** Null: what is stored is no memory, such as a fact. */
  kind: string | null;
  status: string;
}

export type CallMetrics = ReturnType<typeof operationMetrics>;

export function operationMetrics(registers: Registry[], recent: Recent) {
  const operations = new Histogram({
    name: 'l9_operation_seconds',
    help: 'Duration of operations in seconds, by name and outcome.',
    labelNames: ['operation', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  const sql = new Histogram({
    name: 'l9_sql_seconds',
    help: 'Duration of the SQL of operations in seconds, without the wait for a connection, by name.',
    labelNames: ['operation'],
    buckets: SECONDS,
    registers,
  });
  const items = new Counter({
    name: 'l9_stored_items_total',
    help: 'Items that operations were given to store, by kind of memory and status: inserted, updated, skipped_dedupe, …',
    labelNames: ['operation', 'kind', 'status'],
    registers,
  });
  const itemErrors = new Counter({
    name: 'l9_item_errors_total',
    help: 'Items that operations could not store, while they stored the others, by code of the error.',
    labelNames: ['operation', 'code'],
    registers,
  });
  const few = new Counter({
    name: 'l9_few_hits_total',
    help: 'Searches that found fewer than three hits.',
    labelNames: ['operation'],
    registers,
  });
  const homeless = new Counter({
    name: 'l9_calls_without_project_total',
    help: 'Calls that named no project where none could be inferred from a working copy.',
    labelNames: ['operation'],
    registers,
  });
  return {
    /** Starts the timer of an operation; the returned function stops it. */
    startOperation(operation: string) {
      const stop = operations.startTimer({ operation });
      return (outcome: string) => recent.called(operation, outcome, stop({ outcome }) * 1_000);
    },
    sqlTook: (operation: string, milliseconds: number) => sql.observe({ operation }, milliseconds / 1_000),
    /** The SQL of a call took longer than it should. */
    slow: recent.slow,
    stored(operation: string, stored: readonly StoredItem[]) {
      for (const { kind, status } of stored) {
        const known = kind === null ? 'none' : BUILT_IN_KINDS.has(kind) ? kind : 'other';
        items.inc({ operation, kind: known, status });
      }
    },
    /** The codes of the errors of single items, in calls that stored the others. */
    itemErrors(operation: string, codes: readonly string[]) {
      for (const code of codes) itemErrors.inc({ operation, code });
    },
    fewHits: (operation: string) => few.inc({ operation }),
    withoutProject: (operation: string) => homeless.inc({ operation }),
  };
}
