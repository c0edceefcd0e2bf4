import { setTimeout as sleep } from 'node:timers/promises';
import { makeWorkerUtils, type Runner, run, runOnce, type TaskList, Logger as WorkerLogger } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { backoffSeconds } from './backoff.ts';
import { deleteExpired } from './delete-expired.ts';
import { type EmbedPendingOptions, embedPending } from './embed-pending.ts';
import { makePartitions } from './make-partitions.ts';
import { type PeriodicTask, startPeriodic } from './periodic.ts';
import { sealAudit } from './seal-audit.ts';
import { statisticsKeeper } from './statistics.ts';

// Raw SQL saves don't pass the gateway, so the list is looked at now and then without being told.
const LOOK_EVERY_MS = 5_000;
const KICK_DELAY_MS = 30;
const OUTAGE_LAST_SECONDS = 60;
const RUN_AGAIN_AFTER_MS = 1_000;

export interface JobsOptions extends EmbedPendingOptions {
  /** How often expired memories are deleted; 0: never. */
  cleanupIntervalMs: number;
}

export interface Jobs {
  /** Something may wait for its vectors. */
  kick(): void;
  close(): Promise<void>;
}

/** Background work by graphile-worker: its own loop on a server, run when there is something to do on the embedded engine. */
export async function startJobs(database: Database, logger: Logger, options: JobsOptions): Promise<Jobs> {
  const { cleanupIntervalMs } = options;
  const periodicTasks: readonly PeriodicTask[] = [
    makePartitions,
    sealAudit,
    ...(cleanupIntervalMs > 0 ? [deleteExpired(cleanupIntervalMs)] : []),
  ];
  const abort = new AbortController();
  const keepStatistics = database.engine === 'embedded' ? statisticsKeeper(database.workerPool) : null;
  // A provider that is down is asked less and less often, however much is saved meanwhile.
  let outages = 0;
  let pausedUntil = 0;
  const taskList: TaskList = {
    embed_pending: async () => {
      try {
        const embedded = await embedPending(database.workerPool, options, abort.signal);
        outages = 0;
        await keepStatistics?.(embedded);
      } catch (error) {
        outages += 1;
        pausedUntil = Date.now() + backoffSeconds(outages, OUTAGE_LAST_SECONDS) * 1_000;
        throw error;
      }
    },
    ...Object.fromEntries(
      periodicTasks.map((task) => [task.name, () => task.run(database.workerPool, logger, abort.signal)]),
    ),
  };
  const workerLogger = new WorkerLogger(() => (level, message) => {
    // Up to the error's own text, which could quote what is no business of the log.
    if (level === 'error' || level === 'warning')
      logger.warn({ job: message.split(' with error')[0]?.slice(0, 120) }, 'a background job reports');
  });
  const shared = {
    pgPool: database.workerPool,
    taskList,
    logger: workerLogger,
    noHandleSignals: true,
    // In batches it waits for a job to be ticked off, and tells of it when that fails. Otherwise nobody does: a connection
    // that breaks at that moment would be an unhandled rejection, and the end of the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };

  const utils = await makeWorkerUtils({ pgPool: database.workerPool, logger: workerLogger });
  await utils.migrate();
  // Two at a time, so that what goes by the clock need not wait for a long backlog of embeddings.
  const startRunner = () => run({ ...shared, concurrency: 2, pollInterval: 2_000 });
  let runner: Runner | null = database.engine === 'server' ? await startRunner() : null;
  // It ends itself when it can't tick a job off, as when the database goes away.
  const keepRunning = async () => {
    while (runner) {
      const reason = await runner.promise.then(
        () => null,
        (error: Error) => error,
      );
      while (!abort.signal.aborted) {
        logger.warn({ name: reason?.name }, 'background jobs stopped: starting them again');
        await sleep(RUN_AGAIN_AFTER_MS);
        if (abort.signal.aborted) return;
        runner = await startRunner().catch(() => null);
        if (runner) break;
      }
      if (abort.signal.aborted) return;
    }
  };
  const kept = keepRunning();

  let kickTimer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let again = false;

  const enqueue = async () => {
    if (Date.now() < pausedUntil) return;
    const { rows } = await database.workerPool.query<{ due: boolean }>(
      'select exists (select from l9_private.pending_embeddings q where q.next_attempt_at <= now() and (q.claimed_until is null or q.claimed_until < now())) or exists (select from l9_private.stale_contexts) as due',
    );
    if (!rows[0]?.due) return;
    await utils.addJob('embed_pending', {}, { jobKey: 'embed_pending', maxAttempts: 25 });
    if (database.engine === 'embedded') await runOnce(shared);
  };
  const work = () => {
    if (abort.signal.aborted) return;
    if (running) {
      again = true;
      return;
    }
    running = enqueue()
      .catch((error: Error) =>
        logger.warn({ name: error.name, code: (error as { code?: string }).code }, 'background work failed'),
      )
      .finally(() => {
        running = null;
        if (again) {
          again = false;
          work();
        }
      });
  };
  const timer = setInterval(work, LOOK_EVERY_MS).unref();
  const periodic = startPeriodic(periodicTasks, {
    pool: database.workerPool,
    logger,
    signal: abort.signal,
    async enqueue(name) {
      await utils.addJob(name, {}, { jobKey: name, maxAttempts: 1 });
      if (database.engine === 'embedded') await runOnce(shared);
    },
  });
  // Another model may have served before: what has no vector of this one would not be found by meaning.
  const catchUp = database.workerPool
    .query<{ enqueued: string }>('select l9_private.enqueue_missing_embeddings($1) as enqueued', [
      options.embedder.model,
    ])
    .then(({ rows }) => {
      const enqueued = Number(rows[0]?.enqueued ?? 0);
      if (enqueued > 0)
        logger.info({ memories: enqueued, model: options.embedder.model }, 'memories wait for a vector of this model');
    })
    .catch((error: Error) => logger.warn({ name: error.name }, 'memories without a vector could not be listed'))
    .finally(work);

  return {
    kick() {
      clearTimeout(kickTimer);
      kickTimer = setTimeout(work, KICK_DELAY_MS);
    },
    async close() {
      abort.abort();
      clearInterval(timer);
      clearTimeout(kickTimer);
      await catchUp;
      await running;
      await periodic.settled();
      await runner?.stop().catch(() => {});
      await kept;
      await utils.release();
    },
  };
}
