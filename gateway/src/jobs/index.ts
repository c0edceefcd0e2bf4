import { makeWorkerUtils, runOnce, type TaskList, Logger as WorkerLogger, type WorkerUtils } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import type { Models } from '../embeddings/models.ts';
import { outagePause } from './backoff.ts';
import { deleteExpired } from './delete-expired.ts';
import { dropLeavingModels } from './drop-leaving-models.ts';
import { type EmbedPendingOptions, embedPending, ModelUnavailable } from './embed-pending.ts';
import { makePartitions } from './make-partitions.ts';
import { type PeriodicTask, startPeriodic } from './periodic.ts';
import { refreshViews } from './refresh-views.ts';
import { rollUpAccesses } from './roll-up-accesses.ts';
import { keepRunning } from './runner.ts';
import { sealAudit } from './seal-audit.ts';
import { statisticsKeeper } from './statistics.ts';
import { type ChatWork, useChatModel } from './use-chat-model.ts';

// Raw SQL saves don't pass the gateway, so the list is looked at now and then without being told.
const LOOK_EVERY_MS = 5_000;
const KICK_DELAY_MS = 30;
const OUTAGE_LAST_SECONDS = 60;

export interface JobsOptions extends Omit<EmbedPendingOptions, 'embedders'> {
  models: Models;
  /** How often expired memories are deleted; 0: never. */
  cleanupIntervalMs: number;
  /** Where a chat model is configured. */
  chatWork?: ChatWork | undefined;
}

export interface Jobs {
  /** Something may wait for its vectors. */
  kick(): void;
  close(): Promise<void>;
}

/** graphile-worker's own tables, which l9_worker has: made, or brought up to this version's. */
export async function openJobQueue(database: Database, logger?: WorkerLogger): Promise<WorkerUtils> {
  const utils = await makeWorkerUtils({ pgPool: database.workerPool, ...(logger ? { logger } : {}) });
  await utils.migrate();
  return utils;
}

/** Background work by graphile-worker: its own loop on a server, run when there is something to do on the embedded engine. */
export async function startJobs(database: Database, logger: Logger, options: JobsOptions): Promise<Jobs> {
  const { chatWork, cleanupIntervalMs, models } = options;
  const periodicTasks: readonly PeriodicTask[] = [
    makePartitions,
    sealAudit,
    rollUpAccesses,
    dropLeavingModels,
    refreshViews,
    ...(cleanupIntervalMs > 0 ? [deleteExpired(cleanupIntervalMs)] : []),
    ...(chatWork ? useChatModel(chatWork) : []),
  ];
  const abort = new AbortController();
  const keepStatistics = database.engine === 'embedded' ? statisticsKeeper(database.workerPool) : null;
  // A provider that is down is asked less and less often, however much is saved meanwhile.
  const outages = new Map<string, ReturnType<typeof outagePause>>();
  const outageOf = (model: string) => {
    const outage = outages.get(model) ?? outagePause(OUTAGE_LAST_SECONDS);
    outages.set(model, outage);
    return outage;
  };
  const awake = () => models.inUse().filter(({ model }) => !outageOf(model).isPausing());
  const taskList: TaskList = {
    embed_pending: async () => {
      // One provider that is down does not keep another from its work.
      for (let isDone = false; !isDone; ) {
        const embedders = awake();
        try {
          const embedded = await embedPending(database.workerPool, { ...options, embedders: awake }, abort.signal);
          for (const { model } of embedders) outageOf(model).isOver();
          await keepStatistics?.(embedded);
          isDone = true;
        } catch (error) {
          if (!(error instanceof ModelUnavailable)) throw error;
          logger.warn({ model: error.model, name: error.name }, 'memories could not be embedded for now');
          outageOf(error.model).met(error.cause);
        }
      }
    },
    ...Object.fromEntries(
      periodicTasks.map((task): [string, TaskList[string]] => [
        task.name,
        (_payload, { job }) => task.run(database.workerPool, logger, abort.signal, job.id),
      ]),
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

  const utils = await openJobQueue(database, workerLogger);
  // Two at a time, so that what goes by the clock need not wait for a long backlog of embeddings, nor for a chat model.
  const concurrency = chatWork ? 4 : 2;
  const loop =
    database.engine === 'server'
      ? await keepRunning({ ...shared, concurrency, pollInterval: 2_000 }, logger, abort.signal)
      : null;

  let kickTimer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let again = false;

  const enqueue = async () => {
    const { rows } = await database.workerPool.query<{ due: boolean }>(
      'select embeddings.has_due_embeddings($1) as due',
      [awake().map(({ model }) => model)],
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
  // What has no vector of a model in use would not be found by meaning: saved while no model was known, or in a
  // transaction that began before a model did.
  const catchUpOnce = () =>
    database.workerPool
      .query<{ model: string; enqueued: string }>(
        "select m.model, embeddings.enqueue_missing_embeddings(m.model) as enqueued from public.embedding_models m where m.state in ('serving', 'arriving')",
      )
      .then(({ rows }) => {
        for (const { model, enqueued } of rows)
          if (Number(enqueued) > 0)
            logger.info({ memories: Number(enqueued), model }, 'memories wait for a vector of this model');
      })
      .catch((error: Error) => logger.warn({ name: error.name }, 'memories without a vector could not be listed'))
      .finally(work);
  let catchUp = catchUpOnce();
  models.onChange(() => {
    if (!abort.signal.aborted) catchUp = catchUp.then(catchUpOnce);
  });

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
      await loop?.stopped;
      await utils.release();
    },
  };
}
