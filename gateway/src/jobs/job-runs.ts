// What a job does for a tenant, written down where the tenant's people see it: public.tasks. It is for looking at only: where it
// can't be written the work goes on all the same.
import type { Logger } from 'pino';
import type { WorkerPool } from '../database/index.ts';
import { sqlstateOf } from '../errors.ts';

export interface Task {
  /** What is done: a lower-case word. */
  type: string;
  /** For whom; left out: for every tenant, as what concerns them all. */
  tenantId?: string | undefined;
  /** Numbers, ids and names, never contents. */
  payload?: Record<string, unknown> | undefined;
  /** What it is about; left out: everything, and then only admins see it, and whoever asked for it. */
  scope?: string | undefined;
  projectId?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  /** Who asked for it, such as C. */
  caller?: string | undefined;
  /** What it works on. What was left running under it by a process that died counts as failed. */
  jobKey?: string | undefined;
  /** The job of the queue that does it. */
  jobId?: string | undefined;
}

/** Writes down that something waits to be done. `withJobRun` takes it up by its key. */
export const queueJobRun = (pool: WorkerPool, task: Task & { jobKey: string }, logger: Logger) =>
  start(pool, task, true, logger);

/** Does the work between two writes: that it began, and what came of it. `result` says what to write down of it. */
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

/** Never its text, which may quote what it is about. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const { code, name } = error as Error & { code?: unknown };
  if (typeof code === 'string' && code) return code;
  return name === 'Error' ? error.constructor.name : name;
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
  logger.warn({ task, name: (error as Error).name, code: sqlstateOf(error) }, 'a task could not be written down');
