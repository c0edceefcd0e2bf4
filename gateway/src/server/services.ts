// Opens what the APIs rest on: the database, the embedding models, the directory of callers, the jobs and the executor.
import type { Logger } from 'pino';
import { createArchive } from '../archive/archive.ts';
import { openStores } from '../archive/stores/index.ts';
import { createDenials } from '../audit/denials.ts';
import { createRefusalLog } from '../audit/refusal-log.ts';
import { createRefusals } from '../audit/refusals.ts';
import { openDirectory } from '../auth/directory.ts';
import { createRateLimits } from '../auth/rate-limits.ts';
import { sqlstateOf } from '../base/errors.ts';
import { openTracer } from '../base/opentelemetry.ts';
import type { ChatConfig, Config } from '../config/config.ts';
import { openDatabase } from '../database/index.ts';
import { requireLogins } from '../database/logins.ts';
import { createEmbedder, type Embedder, embeddingConfig } from '../embeddings/index.ts';
import { openModels } from '../embeddings/models.ts';
import { openaiChat } from '../extraction/chat.ts';
import { chatJobs } from '../extraction/jobs.ts';
import { sessionReader } from '../extraction/session-reader.ts';
import type { HomeState } from '../home/examine.ts';
import { collectArchives } from '../jobs/collect-archives.ts';
import { startJobs } from '../jobs/index.ts';
import { createMetrics, type Metrics } from '../metrics/index.ts';
import { embeddingPolicy } from '../operations/embedding-policy.ts';
import { createExecutor } from '../operations/execute.ts';
import { createOwnSaves } from '../operations/own-saves.ts';
import { openArchiveKeys } from './archive-keys.ts';
import type { CloseStack } from './close-stack.ts';
import { dropEmptyData, fillHome } from './template.ts';

// Time to store the answer of the chat model before another job leases the same memory.
const LEASE_BEYOND_A_CALL_MS = 60_000;

export interface ServicesOptions {
  /** Replaces the embedder of the configuration. */
  embedder?: Embedder;
  /** Aborts the start. */
  signal?: AbortSignal;
  /** Called with the name of each step of the start, such as `preparing the database`. */
  onProgress?: (step: string) => void;
}

export async function openServices(
  config: Config,
  home: HomeState,
  logger: Logger,
  closing: CloseStack,
  { embedder, signal, onProgress }: ServicesOptions,
) {
  // Closed last, with the spans of all others.
  const tracer = await openTracer(config.tracing, logger);
  if (tracer) closing.add(tracer);
  await requireLogins(config);
  // The model loads while the database opens.
  onProgress?.('loading the embedding model');
  const embedding = embeddingConfig(config.embedding);
  const configured = closing.add(embedder ?? (await createEmbedder(embedding, logger)));
  const onPrepare = () => onProgress?.('preparing the database');
  if (home.data === 'empty') dropEmptyData(config);
  if (!config.databaseUrl) await fillHome(config, logger, onPrepare);
  onProgress?.('opening the database');
  const database = closing.add(await openDatabase(config, logger, onPrepare));
  signal?.throwIfAborted();
  const archiveKeys = await openArchiveKeys(config, home, database, logger);
  const models = closing.add(await openModels(database, embedding, configured, logger));
  const directory = closing.add(await openDirectory(database, logger));
  const denials = closing.add(createDenials(database, logger));
  const refusals = closing.add(createRefusals(database, logger));
  const refusalLog = closing.add(createRefusalLog(logger));
  const metrics = createMetrics(database, logger);
  const isShared = config.rateLimits.store === 'database';
  const rateLimits = closing.add(
    createRateLimits({
      limitsOf: directory.limitsOf,
      wrongKeysPerMinute: config.rateLimits.wrongKeysPerMinute,
      store: isShared && database.countsPool ? { counts: database.countsPool, cleaner: database.workerPool } : null,
      onLimited: metrics.rateLimited,
    }),
  );
  const stores = openStores(config.archive, logger);
  const chatOptions = config.chat ? chatJobOptions(config.chat, logger, metrics) : null;
  const jobs = closing.add(
    await startJobs(database, logger, {
      models,
      cleanupIntervalMs: config.cleanupIntervalMs,
      onEmbedded: metrics.embedded,
      tracer,
      otherJobs: [collectArchives(stores), ...(chatOptions ? chatJobs(chatOptions) : [])],
    }),
  );
  const archive = createArchive({
    keys: archiveKeys.read,
    onKeyUsed: archiveKeys.note,
    stores,
    logger,
    onProblem: metrics.archiveProblem,
    reader: chatOptions ? sessionReader({ ...chatOptions, pool: database.workerPool, logger }) : undefined,
  });
  const ownSaves = createOwnSaves(database);
  const execute = createExecutor({
    database,
    refusals,
    archive,
    logger,
    embeddingFor: embeddingPolicy(models, database, ownSaves, logger),
    refreshModels: models.refresh,
    ownSaves,
    onEnqueued: jobs.wake,
    metrics,
    slowQueryMs: config.slowQueryMs,
    refusalLog,
  });
  /** Ends the embedded engine once its jobs have nothing to do, unless somebody needs it meanwhile. */
  const rest = async (isIdle: () => boolean) => {
    if (!database.rest || database.isResting() || !(await jobs.finish())) return;
    // While the engine rests, the gauges keep the values of this moment.
    await metrics.render();
    if (isIdle()) await database.rest();
  };
  const caches: Record<string, () => Promise<void>> = {
    l9_identity: directory.refresh,
    l9_embedding_models: models.refresh,
  };
  const reload = (channel: string) =>
    caches[channel]?.().catch((error: Error) =>
      logger.warn({ channel, code: sqlstateOf(error) }, 'could not reload what a mutation changed'),
    ) ?? Promise.resolve();
  signal?.throwIfAborted();
  return {
    ...{ configured, jobs, database, models, directory, denials, refusals, refusalLog },
    ...{ metrics, rateLimits, execute, reload, rest, tracer },
  };
}

const chatJobOptions = (chat: ChatConfig, logger: Logger, metrics: Metrics) => ({
  chat: openaiChat(chat, logger),
  leaseMs: chat.timeoutMs + LEASE_BEYOND_A_CALL_MS,
  onTokens: metrics.chatTokens,
  onExtracted: metrics.extracted,
});
