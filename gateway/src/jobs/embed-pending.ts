// Embeds the memories in the queue for vectors, in turns: some that wait for their first vector, the newest first, then a few chunks of a
// long one. The queue is in the database, so this can stop at any point: memories without a stored vector are leased again.
import type { Logger } from 'pino';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { WorkerPool } from '../database/index.ts';
import { type Embedder, EmbedderUnavailable, EmbeddingRejected } from '../embeddings/index.ts';
import { backoffSeconds } from './backoff.ts';
import { type Context, embedChunks, embedWhole, type Pending, type Work } from './embed-memory.ts';

const LEASE_SECONDS = 60;
const RETRY_LAST_SECONDS = 3600;
const BUSY_WAIT = '1 second';

interface FreshContext extends Context {
  packet_id: string;
  /** True if the memory or the one before it in its thread is locked by a change. */
  is_busy: boolean;
}

export interface EmbedPendingOptions {
  /** One for each model in use, the serving one first. Called before each batch, since they may change. */
  embedders: () => readonly Embedder[];
  logger: Logger;
  batchSize?: number;
  onEmbedded?: (memories: number, vectors: number, tenantId: string) => void;
}

/** A memory is locked by a change. The job does not wait for it. */
const isBusy = (error: unknown) => sqlstateOf(error) === SQLSTATE.lockNotAvailable;
const delay = (failures: number) => `${backoffSeconds(failures, RETRY_LAST_SECONDS)} seconds`;

/** A provider could not be reached. The memories leased for its model are back in the queue. */
export class ModelUnavailable extends Error {
  readonly model: string;
  constructor(model: string, cause: unknown) {
    super((cause as Error).message, { cause });
    this.name = (cause as Error).name;
    this.model = model;
  }
}

/** Embeds until nothing is due for any of the models. Rejects with ModelUnavailable when a provider can't be reached. */
export async function embedPending(
  pool: WorkerPool,
  options: EmbedPendingOptions,
  signal?: AbortSignal,
): Promise<number> {
  const { batchSize = 16, embedders } = options;
  let done = 0;
  for (let worked = true; worked && !signal?.aborted; ) {
    worked = false;
    await pool.query('select embeddings.requeue_stale_contexts()');
    for (const embedder of embedders()) {
      const turn: Turn = { pool, embedder, signal, ...options };
      const wholes = await lease(turn, batchSize, false);
      if (wholes.length > 0) done += await embedWholes(turn, wholes);
      const long = signal?.aborted ? [] : await lease(turn, 1, true);
      if (long.length > 0) done += await embedEach(turn, long, (memory) => embedChunks(turn, memory));
      worked = wholes.length + long.length > 0;
      if (worked) break;
    }
  }
  return done;
}

/** Embeds as many of the memories that wait for their first vector, the newest, as were just saved. */
export async function embedNewest(
  pool: WorkerPool,
  count: number,
  options: EmbedPendingOptions,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  for (const embedder of options.embedders()) {
    if (signal?.aborted) break;
    const turn: Turn = { pool, embedder, signal, ...options };
    const memories = await lease(turn, count, false);
    if (memories.length > 0) done += await embedWholes(turn, memories);
  }
  return done;
}

type Turn = EmbedPendingOptions & Work;

async function lease({ pool, embedder }: Turn, atMost: number, hasWhole: boolean): Promise<Pending[]> {
  const { rows } = await pool.query<Pending>('select * from embeddings.lease_pending_embeddings($1, $2, $3, $4)', [
    embedder.model,
    atMost,
    `${LEASE_SECONDS} seconds`,
    hasWhole,
  ]);
  return rows;
}

/** Embeds leased memories, and returns how many are finished. `embed` resolves with true for a memory that is. */
async function embedEach(
  { pool, embedder, logger, signal }: Turn,
  rows: Pending[],
  embed: (memory: Pending) => Promise<boolean>,
): Promise<number> {
  const { model } = embedder;
  let done = 0;
  // A turn can take longer than the lease, which is short so that the work of a dead process is soon taken up.
  const renewal = setInterval(() => {
    const ids = rows.map(({ packet_id }) => packet_id);
    pool
      .query('select embeddings.renew_embedding_leases($1, $2, $3)', [model, ids, `${LEASE_SECONDS} seconds`])
      .catch((error: Error) => logger.warn({ name: error.name }, 'could not renew leases'));
  }, LEASE_SECONDS * 333);
  try {
    for (const [index, memory] of rows.entries()) {
      try {
        signal?.throwIfAborted();
        if (await embed(memory)) done += 1;
      } catch (error) {
        const { name } = error as Error;
        if (signal?.aborted) {
          await postpone(pool, model, rows.slice(index), '0 seconds', 'stopped', false);
          return done;
        }
        if (isBusy(error)) {
          await postpone(pool, model, [memory], BUSY_WAIT, 'busy', false);
          continue;
        }
        if (error instanceof EmbeddingRejected) {
          logger.warn(
            { packetId: memory.packet_id, attempts: memory.attempts + 1 },
            'the embedding provider refused a memory',
          );
          await postpone(pool, model, [memory], delay(memory.attempts + 1), name, true);
          continue;
        }
        await postpone(pool, model, rows.slice(index), delay(1), name, false);
        throw error instanceof EmbedderUnavailable ? new ModelUnavailable(model, error) : error;
      }
    }
    return done;
  } finally {
    clearInterval(renewal);
  }
}

/** Embeds memories as a whole and, where these are few, their chunks. */
async function embedWholes(turn: Turn, rows: Pending[]): Promise<number> {
  const { pool, embedder } = turn;
  const { model } = embedder;
  // Contexts are stored before the embedder is called, so that they are found by words while it is down.
  const contexts = await refreshContexts(pool, rows).catch(async (error: unknown) => {
    const [wait, reason] = isBusy(error) ? [BUSY_WAIT, 'busy'] : [delay(1), (error as Error).name];
    await postpone(pool, model, rows, wait, reason, false);
    if (!isBusy(error)) throw error;
    return null;
  });
  if (!contexts) return 0;
  return embedEach(turn, rows, async (memory) => {
    const context = contexts.get(memory.packet_id);
    if (!context || context.is_busy) {
      await postpone(pool, model, [memory], BUSY_WAIT, 'busy', false);
      return false;
    }
    return embedWhole(turn, memory, context);
  });
}

async function refreshContexts(pool: WorkerPool, memories: Pending[]): Promise<Map<string, FreshContext>> {
  const { rows } = await pool.query<FreshContext>('select * from embeddings.refresh_contexts($1)', [
    memories.map(({ packet_id }) => packet_id),
  ]);
  return new Map(rows.map((row) => [row.packet_id, row]));
}

async function postpone(
  pool: WorkerPool,
  model: string,
  memories: Pending[],
  wait: string,
  error: string,
  countsAsAttempt: boolean,
) {
  await pool.query('select embeddings.postpone_embeddings($1, $2, $3, $4, $5)', [
    model,
    memories.map(({ packet_id }) => packet_id),
    wait,
    error,
    countsAsAttempt,
  ]);
}
