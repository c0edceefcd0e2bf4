// Work that is done on a timer, each kind in a file of its own. graphile-worker runs it. Its name is the job key, so that
// requests of many processes make one job.
import type pg from 'pg';
import type { Logger } from 'pino';
import { sqlstateOf } from '../errors.ts';

export interface PeriodicJob {
  /** Its name among the jobs. */
  name: string;
  everyMs: number;
  /** Where given, asked first, so that a job is made only when there is something to do. */
  isDue?(pool: pg.Pool): Promise<boolean>;
  /** Does what there is to do. `pool` is that of l9_worker, `jobId` the queue's of this run. */
  run(pool: pg.Pool, logger: Logger, signal: AbortSignal, jobId?: string): Promise<void>;
}

export interface PeriodicOptions {
  pool: pg.Pool;
  logger: Logger;
  signal: AbortSignal;
  /** Makes a job of this name, unless there is one, and on the embedded engine runs it. */
  enqueue(name: string): Promise<void>;
}

/** Asks for each task at once, then on its timer. Ends with the signal; `settled` when nothing is under way any more. */
export function startPeriodic(tasks: readonly PeriodicJob[], { pool, logger, signal, enqueue }: PeriodicOptions) {
  const running = new Map<string, Promise<void>>();
  const look = (task: PeriodicJob) => {
    if (signal.aborted || running.has(task.name)) return;
    const round = (async () => {
      if (!task.isDue || (await task.isDue(pool))) await enqueue(task.name);
    })()
      .catch((error: Error) =>
        logger.warn({ job: task.name, name: error.name, code: sqlstateOf(error) }, 'a job failed'),
      )
      .finally(() => running.delete(task.name));
    running.set(task.name, round);
  };
  const timers = tasks.map((task) => setInterval(() => look(task), task.everyMs).unref());
  signal.addEventListener('abort', () => timers.forEach(clearInterval), { once: true });
  tasks.forEach(look);
  return {
    settled: async () => {
      await Promise.all(running.values());
    },
  };
}
