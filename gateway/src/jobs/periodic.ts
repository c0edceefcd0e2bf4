// Jobs on a timer. graphile-worker runs them. The name is the job key, so that requests of many
// processes make one job.
import type pg from 'pg';
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';

export interface PeriodicJob {
  /** The name of the job in the queue. */
  name: string;
  everyMs: number;
  /** Runs on a full disk too. The others pause. */
  makesRoom?: true;
  /** Called first, so that a job is added to the queue only when there is work. Without it the job is always due. */
  isDue?(pool: pg.Pool): Promise<boolean>;
  /** Does the work. `pool` logs in as l9_worker and is the one of this job, `jobId` is the id of this run in the queue. */
  run(pool: pg.Pool, logger: Logger, signal: AbortSignal, jobId?: string): Promise<void>;
}

/** Asks for one value. */
export const asks =
  (sql: string, values: unknown[] = []) =>
  async (pool: pg.Pool): Promise<unknown> =>
    (await pool.query<{ value: unknown }>(`select (${sql}) as value`, values)).rows[0]?.value;

/** Asks whether this is true. */
export const isTrue =
  (sql: string, values: unknown[] = []) =>
  async (pool: pg.Pool): Promise<boolean> =>
    (await asks(sql, values)(pool)) === true;

/** Calls a function, each time in a transaction of its own, until it says that it did less than it might have done. */
export const untilDone =
  (sql: string, most = 1): PeriodicJob['run'] =>
  async (pool, _logger, signal) => {
    const call = asks(sql);
    while (!signal.aborted) if (Number((await call(pool)) ?? 0) < most) return;
  };

export interface PeriodicOptions {
  jobPool(name: string): pg.Pool;
  /** Whether the disk has too little room for jobs. */
  isFull(): boolean;
  /** Whether checks must wait, because they would keep the embedded engine awake. */
  isResting(): boolean;
  logger: Logger;
  signal: AbortSignal;
  /** Adds a job of this name to the queue unless there is one. On the embedded engine it also runs the job. */
  enqueue(name: string): Promise<void>;
}

// For what becomes due by time alone, such as memories that expire.
const CHECK_RESTING_EVERY_MS = 60 * 60_000;

/**
 * Checks each job at once, then on its timer, until the signal; while the engine rests, once an hour. `checkAll` checks each
 * now. `settled` resolves when no check is running any more.
 */
export function startPeriodic(
  jobs: readonly PeriodicJob[],
  { jobPool, isFull, isResting, logger, signal, enqueue }: PeriodicOptions,
) {
  const running = new Map<string, Promise<void>>();
  const checkAll = () => jobs.forEach(check);
  const check = (job: PeriodicJob) => {
    if (signal.aborted || running.has(job.name) || (isFull() && !job.makesRoom)) return;
    const round = (async () => {
      if (!job.isDue || (await job.isDue(jobPool(job.name)))) await enqueue(job.name);
    })()
      .catch((error: Error) =>
        logger.warn({ job: job.name, name: error.name, code: sqlstateOf(error) }, 'a job failed'),
      )
      .finally(() => running.delete(job.name));
    running.set(job.name, round);
  };
  const every = (ms: number, run: () => void) => setInterval(run, ms).unref();
  const timers = jobs.map((job) =>
    every(job.everyMs, () => {
      if (!isResting()) check(job);
    }),
  );
  timers.push(every(CHECK_RESTING_EVERY_MS, checkAll));
  signal.addEventListener('abort', () => timers.forEach(clearInterval), { once: true });
  checkAll();
  return {
    checkAll,
    settled: async () => {
      await Promise.all(running.values());
    },
  };
}
