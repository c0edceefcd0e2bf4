// What the log and the metrics tell about a call: its route, numbers and states, never a text of it.
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RefusalLog } from '../audit/refusal-log.ts';
import { clientOf, type Identity } from '../auth/identity.ts';
import type { PublicError } from '../base/errors.ts';
import { currentRequestId } from '../base/logger.ts';
import type { CallMetrics, StoredItem } from '../metrics/calls.ts';
import { lacksProject } from './inferred-project.ts';
import type { AnyOperation } from './operation.ts';

const FEW_HITS = 3;
/** A client without a project is told of once in this time: most of them send every call without one. */
const TELL_AGAIN_AFTER_MS = 60 * 60_000;
const TOLD_CLIENTS = 10_000;
/** The parts of an answer that are counted. Each is a list under this name. */
const COUNTED = ['hits', 'stored', 'errors', 'suggestions', 'lessons', 'facts', 'paths', 'entities', 'sessions'];
/** The words of `status`. Another field of this name, such as the state of a task, is no outcome of a store. */
const STATUSES = new Set(['inserted', 'updated', 'skipped_dedupe', 'reinforced', 'refused']);

export interface CallReport {
  /** How a search was done. */
  route: string | null;
  counts: Readonly<Record<string, number>>;
  /** What it was given to store, and what came of it. */
  stored: readonly StoredItem[];
  /** Codes of the errors of its items. */
  errors: readonly string[];
}

type Row = Record<string, unknown>;
const rowOf = (value: unknown): Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
const textOf = (value: unknown) => (typeof value === 'string' ? value : null);

/** A lesson is a memory of this kind, which its answer does not name. */
const lessonOf = (item: Row) => ('reflection' in item ? 'reflection' : null);

export function reportOf(output: unknown): CallReport {
  const answer = rowOf(output);
  const counts = COUNTED.flatMap((name) => {
    const part = answer[name];
    return Array.isArray(part) ? [[name, part.length] as const] : [];
  });
  const items = Array.isArray(answer.stored) ? answer.stored.map(rowOf) : [answer];
  const errors = Array.isArray(answer.errors) ? answer.errors.map(rowOf) : [];
  return {
    errors: errors.flatMap(({ code }) => (typeof code === 'string' ? [code] : [])),
    route:
      textOf(rowOf(answer.searched).route_used) ?? textOf(answer.route_used) ?? textOf(rowOf(answer.searched).mode),
    counts: Object.fromEntries(counts),
    stored: items.flatMap((item) => {
      const status = textOf(item.status);
      if (status === null || !STATUSES.has(status)) return [];
      return [{ kind: textOf(item.kind) ?? textOf(rowOf(item.memory).kind) ?? lessonOf(item), status }];
    }),
  };
}

export interface FinishedCall {
  operation: AnyOperation;
  identity: Identity;
  input: unknown;
  /** Null: the call succeeded, and has a report. */
  error: PublicError | null;
  report: CallReport | null;
  sqlMs: number;
}

export interface CallReporting {
  metrics: CallMetrics;
  /** Null: no call counts as slow. */
  slowQueryMs: number | null;
  refusalLog: Pick<RefusalLog, 'add'>;
}

/** The call, as the log names it. */
interface Called {
  request_id: string | undefined;
  tool: string;
}

/** Returns the function that writes what a finished call tells into its log and the metrics. */
export function createCallReporter({
  metrics,
  slowQueryMs,
  refusalLog,
  logger,
}: CallReporting & { logger: Logger }): (finished: FinishedCall) => void {
  const told = new LRUCache<string, true>({ max: TOLD_CLIENTS, ttl: TELL_AGAIN_AFTER_MS });

  function tellOfMissingProject(called: Called, identity: Identity) {
    const client = `${clientOf(identity)}\n${identity.sessionId ?? ''}`;
    const level = told.has(client) ? 'debug' : 'info';
    if (level === 'info') told.set(client, true);
    logger[level](called, 'a call named no project, and none could be inferred');
  }

  return ({ operation, identity, input, error, report, sqlMs }) => {
    const { name } = operation;
    const requestId = currentRequestId();
    // A child of the logger with these fields would cost more than the line.
    const called = { request_id: requestId, tool: name };
    const route = report?.route ?? null;
    const summary = {
      ...called,
      outcome: error?.code ?? 'ok',
      sql_duration_ms: Math.round(sqlMs * 10) / 10,
      ...(route !== null && { route }),
      ...report?.counts,
    };
    metrics.sqlTook(name, sqlMs);
    if (report) {
      metrics.stored(name, report.stored);
      metrics.itemErrors(name, report.errors);
    }
    if (slowQueryMs !== null && sqlMs >= slowQueryMs) {
      metrics.slow(name, sqlMs, route);
      logger.warn(summary, 'the SQL of a call was slow');
    } else if (!error) logger.info(summary, 'a call was answered');
    for (const code of new Set(report?.errors))
      refusalLog.add({ called: { tool: name }, isInPart: true, error: { code, httpStatus: 422 }, requestId });
    if (error) refusalLog.add({ called: { tool: name }, error, requestId });
    const hits = operation.audit === 'SEARCH' ? report?.counts.hits : undefined;
    if (hits !== undefined && hits < FEW_HITS) {
      metrics.fewHits(name);
      logger.warn({ ...called, hits, ...(route !== null && { route }) }, `a search found fewer than ${FEW_HITS} hits`);
    }
    if (lacksProject(operation, identity, input)) {
      metrics.withoutProject(name);
      tellOfMissingProject(called, identity);
    }
  };
}
