import { makeWorkerUtils, run, runOnce, type TaskList, Logger as WorkerLogger } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { backoffSeconds } from './backoff.ts';
import { type EmbedPendingOptions, embedPending } from './embed-pending.ts';
import { statisticsKeeper } from './statistics.ts';

// Raw SQL saves don't pass the gateway, so the list is looked at now and then without being told.
const LOOK_EVERY_MS = 5_000;
const KICK_DELAY_MS = 30;
const OUTAGE_LAST_SECONDS = 60;

export interface Jobs {
  /** Something may wait for its vectors. */
  kick(): void;
  close(): Promise<void>;
}

/** Background work by graphile-worker: its own loop on a server, run when there is something to do on the embedded engine. */
export async function startJobs(database: Database, logger: Logger, options: EmbedPendingOptions): Promise<Jobs> {
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
  };
  const workerLogger = new WorkerLogger(() => (level, message) => {
    // Up to the error's own text, which could quote what is no business of the log.
    if (level === 'error' || level === 'warning')
      logger.warn({ job: message.split(' with error')[0]?.slice(0, 120) }, 'a background job reports');
  });
  const shared = { pgPool: database.workerPool, taskList, logger: workerLogger, noHandleSignals: true };

  const utils = await makeWorkerUtils({ pgPool: database.workerPool, logger: workerLogger });
  await utils.migrate();
  const runner = database.engine === 'server' ? await run({ ...shared, concurrency: 1, pollInterval: 2_000 }) : null;

  let kickTimer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let again = false;

  const enqueue = async () => {
    if (Date.now() < pausedUntil) return;
    const { rows } = await database.workerPool.query<{ due: boolean }>(
      'select exists (select from l9_private.pending_embeddings q where q.next_attempt_at <= now() and (q.claimed_until is null or q.claimed_until < now())) as due',
    );
    if (!rows[0]?.due) return;
    await utils.addJob('embed_pending', {}, { jobKey: 'embed_pending', maxAttempts: 25 });
    if (!runner) await runOnce(shared);
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
      await runner?.stop();
      await utils.release();
    },
  };
}
