// Records job runs in public.tasks, where the members of a tenant can see them. The records are informational: if one
// cannot be written, the job continues.
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';
import type { WorkerPool } from '../database/index.ts';

export interface Task {
  /** The kind of the job, a lower-case word. */
  type: string;
  /** The tenant it runs for. Omit it for jobs that concern every tenant. */
  tenantId?: string | undefined;
  /** Numbers, ids and names, never contents. */
  payload?: Record<string, unknown> | undefined;
  /** The scope it is about. Without it only administrators and the requester see the task. */
  scope?: string | undefined;
  projectId?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  /** The caller who requested it, such as C. */
  caller?: string | undefined;
  /** Identifies the work. A task that a dead process left running under this key is marked as failed. */
  jobKey?: string | undefined;
  /** The id of the job in the queue. */
  jobId?: string | undefined;
}

/** Records that a job is waiting. `withJobRun` continues that record by its key. */
export const queueJobRun = (pool: WorkerPool, task: Task & { jobKey: string }, logger: Logger) =>
  start(pool, task, true, logger);

/** Runs the work, and records its start and its outcome. `result` selects what to record. */
export async function withJobRun<T>(
  pool: WorkerPool,
  task: Task,
  logger: Logger,
  work: () => Promise<T>,
  result: (outcome: T) => Record<string, unknown> = () => ({}),
): Promise<T> {
  const ids = await start(pool, task, false, logger);
  try {
    const outcome = await work();
    await finish(pool, ids, result(outcome), null, logger);
    return outcome;
  } catch (error) {
    await finish(pool, ids, null, nameOf(error), logger);
    throw error;
  }
}

/**
 * Runs work that knows only afterwards for which tenants it did something, and records the run for each tenant in `results`.
 * A run that did nothing leaves no record.
 */
export async function recordingRuns<Result extends object, T = void>(
  pool: WorkerPool,
  type: string,
  logger: Logger,
  work: (results: Map<string, Result>) => Promise<T>,
): Promise<T> {
  const startedAt = new Date();
  const results = new Map<string, Result>();
  const record = async (error: string | null) => {
    if (results.size === 0) return;
    await pool
      .query('select tasks.record_runs($1, $2, $3, $4)', [
        type,
        startedAt,
        JSON.stringify(Object.fromEntries(results)),
        error,
      ])
      .catch((failure: Error) => noted(logger, type, failure));
  };
  try {
    const outcome = await work(results);
    await record(null);
    return outcome;
  } catch (error) {
    await record(nameOf(error));
    throw error;
  }
}

/** The name of an error without its text, which may quote a memory. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  return sqlstateOf(error) || (error.name === 'Error' ? error.constructor.name : error.name);
}

async function start(pool: WorkerPool, task: Task, isQueued: boolean, logger: Logger): Promise<string[]> {
  const { type, tenantId, payload, scope, projectId, orgId, userId, caller, jobKey, jobId } = task;
  try {
    const { rows } = await pool.query<{ ids: string[] }>(
      'select tasks.start_task($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as ids',
      [type, tenantId, JSON.stringify(payload ?? {}), scope, projectId, orgId, userId, caller, jobKey, isQueued, jobId],
    );
    return rows[0]!.ids;
  } catch (error) {
    noted(logger, task.type, error);
    return [];
  }
}

async function finish(pool: WorkerPool, ids: string[], result: object | null, error: string | null, logger: Logger) {
  if (ids.length === 0) return;
  await pool
    .query('select tasks.finish_task($1, $2, $3)', [ids, result && JSON.stringify(result), error])
    .catch((failure: Error) => noted(logger, 'finish', failure));
}

const noted = (logger: Logger, task: string, error: unknown) =>
  logger.warn({ task, name: (error as Error).name, code: sqlstateOf(error) }, 'could not record a task');
