// Background jobs on graphile-worker. A server engine runs its loop; on the embedded engine a job runs when it is due.
import { makeWorkerUtils, type Task, type TaskList, Logger as WorkerLogger, type WorkerUtils } from 'graphile-worker';
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';
import { inTrace, outsideSpans, type Tracer } from '../base/tracing.ts';
import type { Database } from '../database/index.ts';
import { deleteExpired } from './delete-expired.ts';
import { dropLeavingModels } from './drop-leaving-models.ts';
import { type EmbeddingJobOptions, embeddingJob } from './embedding-job.ts';
import { newestFirst } from './newest-first.ts';
import { type PeriodicJob, startPeriodic } from './periodic.ts';
import { dueJobs } from './run-due.ts';
import { keepRunning } from './runner.ts';
import { tidyWords } from './tidy-words.ts';
import { makeCheckpoints, upkeep } from './upkeep.ts';

// Memories saved by SQL don't pass through the gateway, so the queue is also checked on a timer.
const CHECK_EVERY_MS = 5_000;
const WAKE_DELAY_MS = 30;
const POLL_EVERY_MS = 2_000;
const EMBED_ATTEMPTS = 25;
// While one waits for its provider, another stores vectors.
const EMBEDDING_SLOTS = 2;

export interface JobsOptions extends EmbeddingJobOptions {
  /** How often expired memories are deleted; 0: never. */
  cleanupIntervalMs: number;
  /** Gets a trace of each job that runs. */
  tracer?: Tracer | null;
  /** Further periodic jobs, such as those of the chat model. */
  otherJobs?: readonly PeriodicJob[];
}

export type Jobs = Awaited<ReturnType<typeof startJobs>>;

/** Creates or upgrades the tables of graphile-worker, which l9_worker owns. */
export async function openJobQueue(database: Database, logger?: WorkerLogger): Promise<WorkerUtils> {
  const utils = await makeWorkerUtils({ pgPool: database.workerPool, ...(logger ? { logger } : {}) });
  await utils.migrate();
  return utils;
}

/** The warnings of graphile-worker, cut before the text of an error, which could quote a memory. */
const workerLoggerOf = (logger: Logger) =>
  new WorkerLogger(() => (level, message) => {
    if (level === 'error' || level === 'warning')
      logger.warn({ job: message.split(' with error')[0]?.slice(0, 120) }, 'graphile-worker warning');
  });

/**
 * Ends a job at once where so many of its name already run in this process. A job key does not prevent that: a job that
 * runs gives its key up to the next one. Those that run go on until nothing is left, so nothing is missed.
 */
function atMost(slots: number, run: Task): Task {
  let running = 0;
  return async (payload, helpers) => {
    if (running >= slots) return;
    running += 1;
    try {
      await run(payload, helpers);
    } finally {
      running -= 1;
    }
  };
}

export async function startJobs(database: Database, logger: Logger, options: JobsOptions) {
  const { cleanupIntervalMs, models, tracer = null, otherJobs = [] } = options;
  const { workerPool, jobPool } = database;
  const isEmbedded = database.engine === 'embedded';
  const periodicJobs: readonly PeriodicJob[] = [
    ...upkeep,
    dropLeavingModels,
    tidyWords(isEmbedded),
    ...(isEmbedded ? [makeCheckpoints] : []),
    ...(cleanupIntervalMs > 0 ? [deleteExpired(cleanupIntervalMs)] : []),
    ...otherJobs,
  ];
  const abort = new AbortController();
  const untraced = embeddingJob(database, logger, options);
  const traced = (name: string, run: () => Promise<void>) =>
    inTrace(tracer, { name: `job ${name}`, kind: 'internal', attributes: { 'l9.job': name } }, run);
  const embedding: typeof untraced = {
    ...untraced,
    run: (signal, count) => traced(untraced.name, () => untraced.run(signal, count)),
  };
  const taskList: TaskList = {
    [embedding.name]: atMost(EMBEDDING_SLOTS, () => embedding.run(abort.signal)),
    ...Object.fromEntries(
      periodicJobs.map((job): [string, TaskList[string]] => [
        job.name,
        atMost(1, (_payload, helpers) =>
          traced(job.name, () => job.run(jobPool(job.name), logger, abort.signal, helpers.job.id)),
        ),
      ]),
    ),
  };
  const workerLogger = workerLoggerOf(logger);
  const shared = {
    logger: workerLogger,
    noHandleSignals: true,
    // Completing jobs in batches leaves a promise that nobody awaits: a connection lost at that moment would end the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };

  if (isEmbedded) {
    // No other process uses this database, so the leases left over are those of a process that died.
    await workerPool.query('select embeddings.release_embedding_leases(), extraction.release_extraction_leases()');
  }
  const utils = await openJobQueue(database, workerLogger);
  // A slot for each job, so that none waits for another, however long that one takes.
  const concurrency = EMBEDDING_SLOTS + periodicJobs.length;
  const looping = { ...shared, pgPool: workerPool, taskList, concurrency, pollInterval: POLL_EVERY_MS };
  const loop = isEmbedded ? null : await keepRunning(looping, logger, abort.signal);

  const runDue = dueJobs(shared);
  const enqueue = async (name: string, maxAttempts: number) => {
    const pgPool = jobPool(name);
    await pgPool.query("select from graphile_worker.add_job($1, '{}', job_key => $1, max_attempts => $2)", [
      name,
      maxAttempts,
    ]);
    // Runs this job alone: a periodic job must not take on the embedding backlog and wait until that is done.
    if (isEmbedded) await runDue(name, taskList[name]!, pgPool);
  };

  let wakeTimer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let isWokenAgain = false;
  const embedIfDue = () => {
    if (abort.signal.aborted) return;
    if (running) {
      isWokenAgain = true;
      return;
    }
    running = embedding
      .isDue()
      .then((isDue) => (isDue ? enqueue(embedding.name, EMBED_ATTEMPTS) : undefined))
      .catch((error: Error) => logger.warn({ name: error.name, code: sqlstateOf(error) }, 'embedding job failed'))
      .finally(() => {
        running = null;
        if (isWokenAgain) {
          isWokenAgain = false;
          embedIfDue();
        }
      });
  };
  const newest = newestFirst(async (count) => {
    if (abort.signal.aborted) return;
    await embedding
      .run(abort.signal, count)
      .catch((error: Error) => logger.warn({ name: error.name, code: sqlstateOf(error) }, 'embedding job failed'));
  });
  const timer = setInterval(() => {
    if (!database.isResting()) embedIfDue();
  }, CHECK_EVERY_MS).unref();
  const periodic = startPeriodic(periodicJobs, {
    jobPool,
    isFull: () => database.disk.state() !== 'ok',
    isResting: database.isResting,
    logger,
    signal: abort.signal,
    enqueue: (name) => enqueue(name, 1),
  });
  const enqueueMissing = () =>
    embedding
      .enqueueMissing()
      .catch((error: Error) => logger.warn({ name: error.name }, 'could not queue memories without a vector'))
      .finally(embedIfDue);
  let queueing = enqueueMissing();
  models.onChange(() => {
    if (!abort.signal.aborted) queueing = queueing.then(enqueueMissing);
  });

  const stop = async () => {
    abort.abort();
    clearInterval(timer);
    clearTimeout(wakeTimer);
    await queueing;
    await running;
    await newest.settled();
    await periodic.settled();
    await loop?.stopped;
    await utils.release();
  };
  let stopping: Promise<void> | undefined;
  return {
    /** Embeds so many memories at once, which were just saved, and what else may have been queued soon. */
    wake: (saved = 0) =>
      outsideSpans(() => {
        newest.saved(saved);
        clearTimeout(wakeTimer);
        wakeTimer = setTimeout(embedIfDue, WAKE_DELAY_MS);
      }),
    /** Does all that is due now. True if nothing is left that will soon be due again. */
    async finish() {
      periodic.checkAll();
      await periodic.settled();
      // Jobs may have queued memories.
      embedIfDue();
      await newest.settled();
      while (running) await running;
      return !embedding.isPausing();
    },
    /** Abandons the jobs under way, and returns what they have leased. It may be called more than once. */
    close() {
      stopping ??= stop();
      return stopping;
    },
  };
}
