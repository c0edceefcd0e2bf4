// The job that embeds waiting memories: when to run it, and which providers to call.
import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import type { Embedder } from '../embeddings/index.ts';
import type { Models } from '../embeddings/models.ts';
import { SaveTimedOut, type ScheduledEmbedder } from '../embeddings/scheduler.ts';
import { outagePause } from './backoff.ts';
import { type EmbedPendingOptions, embedNewest, embedPending, ModelUnavailable } from './embed-pending.ts';
import { recordingRuns } from './job-runs.ts';
import { isTrue } from './periodic.ts';
import { statisticsKeeper } from './statistics.ts';

const OUTAGE_LAST_SECONDS = 60;

export interface EmbeddingJobOptions {
  models: Models;
  onEmbedded?: (memories: number, vectors: number) => void;
}

/** The embedder, which embeds before the backlog. After a second it is the backlog's turn. */
const asForSaves = (embedder: ScheduledEmbedder): Embedder => ({
  ...embedder,
  embed: (texts) =>
    embedder.embed(texts, 'save').catch((error) => {
      if (error instanceof SaveTimedOut) return embedder.embed(texts);
      throw error;
    }),
});

export function embeddingJob(database: Database, logger: Logger, { models, onEmbedded }: EmbeddingJobOptions) {
  const name = 'embed_pending';
  const pool = database.jobPool(name);
  const keepStatistics = database.engine === 'embedded' ? statisticsKeeper(pool) : null;
  // The pause between calls to an unavailable provider grows, however many memories are saved meanwhile.
  const outages = new Map<string, ReturnType<typeof outagePause>>();
  const outageOf = (model: string) => {
    const outage = outages.get(model) ?? outagePause(OUTAGE_LAST_SECONDS);
    outages.set(model, outage);
    return outage;
  };
  // Vectors take most of the room that a memory needs.
  const available = () =>
    database.disk.state() === 'ok' ? models.inUse().filter(({ model }) => !outageOf(model).isPausing()) : [];

  /** `newest`: only so many, before the backlog. */
  const embedAll = async (
    signal: AbortSignal,
    newest: number | null,
    onStored: NonNullable<EmbedPendingOptions['onEmbedded']>,
  ) => {
    // A provider that is down must not stop the work for another model, so the loop goes on without it.
    for (let isDone = false; !isDone; ) {
      const embedders = available();
      try {
        const options = { logger, onEmbedded: onStored };
        const embedded =
          newest === null
            ? await embedPending(pool, { ...options, embedders: available }, signal)
            : await embedNewest(pool, newest, { ...options, embedders: () => available().map(asForSaves) }, signal);
        for (const { model } of embedders) outageOf(model).recordSuccess();
        await keepStatistics?.(embedded);
        isDone = true;
      } catch (error) {
        if (!(error instanceof ModelUnavailable)) throw error;
        logger.warn({ model: error.model, name: error.name }, 'embedding provider unavailable');
        outageOf(error.model).recordFailure(error.cause);
      }
    }
  };

  return {
    name,
    /** Whether a provider is left alone for a while, after which it is called again. */
    isPausing: () => models.inUse().some(({ model }) => outageOf(model).isPausing()),
    isDue: () => isTrue('embeddings.has_due_embeddings($1)', [available().map(({ model }) => model)])(pool),
    async run(signal: AbortSignal, newest: number | null = null): Promise<void> {
      await recordingRuns<{ memories: number; vectors: number }>(pool, 'embed_pending', logger, (results) =>
        embedAll(signal, newest, (memories, vectors, tenantId) => {
          const before = results.get(tenantId) ?? { memories: 0, vectors: 0 };
          results.set(tenantId, { memories: before.memories + memories, vectors: before.vectors + vectors });
          onEmbedded?.(memories, vectors);
        }),
      );
    },
    /** Queues memories without a vector of a model in use, such as those saved in a transaction that began before the model. */
    async enqueueMissing(): Promise<void> {
      const { rows } = await pool.query<{ model: string; enqueued: string }>(
        "select m.model, embeddings.enqueue_missing_embeddings(m.model) as enqueued from public.embedding_models m where m.state in ('serving', 'arriving')",
      );
      for (const { model, enqueued } of rows) {
        if (Number(enqueued) > 0) logger.info({ memories: Number(enqueued), model }, 'memories queued for embedding');
      }
    },
  };
}
