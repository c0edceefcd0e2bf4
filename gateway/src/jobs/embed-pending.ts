// Embeds the memories in the queue for vectors. The queue is in the database, so this can stop at any point: a memory
// that was not stored is leased again when its lease ends.
import type { Logger } from 'pino';
import type { WorkerPool } from '../database/index.ts';
import {
  type Chunk,
  type Embedder,
  EmbedderUnavailable,
  EmbeddingRejected,
  isKnown,
  type TextVector,
  toVectorLiteral,
} from '../embeddings/index.ts';
import { SQLSTATE, sqlstateOf } from '../errors.ts';
import { backoffSeconds } from './backoff.ts';

const LEASE_SECONDS = 60;
const RETRY_LAST_SECONDS = 3600;
// Between calls the job looks whether it is to stop.
const TEXTS_PER_CALL = 16;
const BUSY_WAIT = '1 second';

/** A memory together with the one before it in its thread. */
interface Context {
  packet_id: string;
  /** True if one of the two is locked by a change. */
  is_busy: boolean;
  context_id: string | null;
  context: string | null;
}

interface Pending {
  packet_id: string;
  content: string;
  content_hash: Buffer;
  attempts: number;
  /** The text of the steps of a reasoning trace; null for other memories. */
  reasoning: string | null;
  tenant_id: string;
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
  await pool.query('select embeddings.requeue_stale_contexts()');
  for (let worked = true; worked && !signal?.aborted; ) {
    worked = false;
    for (const embedder of embedders()) {
      const { rows } = await pool.query<Pending>('select * from embeddings.lease_pending_embeddings($1, $2, $3)', [
        embedder.model,
        batchSize,
        `${LEASE_SECONDS} seconds`,
      ]);
      if (rows.length === 0) continue;
      done += await embedBatch(pool, embedder, rows, options, signal);
      worked = true;
      break;
    }
  }
  return done;
}

async function embedBatch(
  pool: WorkerPool,
  embedder: Embedder,
  rows: Pending[],
  options: EmbedPendingOptions,
  signal?: AbortSignal,
) {
  const { logger, onEmbedded } = options;
  const { model } = embedder;
  let done = 0;
  // A long memory can take longer than the lease, which is short so that the work of a dead process is soon taken up.
  const renewal = setInterval(() => {
    const ids = rows.map(({ packet_id }) => packet_id);
    pool
      .query('select embeddings.renew_embedding_leases($1, $2, $3)', [model, ids, `${LEASE_SECONDS} seconds`])
      .catch((error: Error) => logger.warn({ name: error.name }, 'could not renew leases'));
  }, LEASE_SECONDS * 333);
  try {
    // Contexts are stored before the embedder is called, so that they are found by words while it is down.
    const contexts = await refreshContexts(pool, rows).catch(async (error: unknown) => {
      await postpone(
        pool,
        model,
        rows,
        isBusy(error) ? BUSY_WAIT : delay(1),
        isBusy(error) ? 'busy' : (error as Error).name,
        false,
      );
      if (!isBusy(error)) throw error;
      return null;
    });
    if (!contexts) return done;
    for (const [index, memory] of rows.entries()) {
      if (signal?.aborted) {
        await postpone(pool, model, rows.slice(index), '0 seconds', 'stopped', false);
        return done;
      }
      const context = contexts.get(memory.packet_id);
      if (!context || context.is_busy) {
        await postpone(pool, model, [memory], BUSY_WAIT, 'busy', false);
        continue;
      }
      try {
        const vectors = await embedMemory(embedder, memory, context.context, signal);
        const stored = await store(pool, model, memory, vectors, context.context_id);
        if (stored) {
          done += 1;
          onEmbedded?.(1, countOf(vectors), memory.tenant_id);
        }
      } catch (error) {
        const name = (error as Error).name;
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

interface Embedded {
  /** The vector of the whole text first, then one for each chunk. */
  vectors: TextVector[];
  chunks: Chunk[];
}

interface Vectors extends Embedded {
  context: TextVector;
  reasoning: Embedded | null;
}

const countOf = ({ vectors, context, reasoning }: Vectors) =>
  [...vectors, context, ...(reasoning?.vectors ?? [])].filter((vector) => vector !== null).length;

async function refreshContexts(pool: WorkerPool, memories: Pending[]): Promise<Map<string, Context>> {
  const { rows } = await pool.query<Context>('select * from embeddings.refresh_contexts($1)', [
    memories.map(({ packet_id }) => packet_id),
  ]);
  return new Map(rows.map((row) => [row.packet_id, row]));
}

async function embedMemory(
  embedder: Embedder,
  { content, reasoning }: Pending,
  context: string | null,
  signal?: AbortSignal,
): Promise<Vectors> {
  const chunks = await embedder.chunk(content);
  const reasoningChunks = reasoning === null ? [] : await embedder.chunk(reasoning);
  const texts = [
    content,
    ...chunks.map(({ text }) => text),
    ...(context === null ? [] : [context]),
    ...(reasoning === null ? [] : [reasoning, ...reasoningChunks.map(({ text }) => text)]),
  ];
  const known: string[] = [];
  for (const text of texts) if (await isKnown(embedder, text)) known.push(text);
  const embedded: number[][] = [];
  for (let start = 0; start < known.length; start += TEXTS_PER_CALL) {
    signal?.throwIfAborted();
    embedded.push(...(await embedder.embed(known.slice(start, start + TEXTS_PER_CALL))));
  }
  const vectors = texts.map((text): TextVector => embedded[known.indexOf(text)] ?? null);
  const ofContent = vectors.splice(0, chunks.length + 1);
  return {
    vectors: ofContent,
    chunks,
    context: context === null ? null : (vectors.shift() ?? null),
    reasoning: reasoning === null ? null : { vectors, chunks: reasoningChunks },
  };
}

const parametersOf = ({ vectors, chunks }: Embedded) => [
  vectors.map((vector) => vector && toVectorLiteral(vector)),
  chunks.map(({ text }) => text),
  chunks.map(({ start }) => start),
  chunks.map(({ end }) => end),
];

async function store(
  pool: WorkerPool,
  model: string,
  memory: Pending,
  embedded: Vectors,
  contextId: string | null,
): Promise<boolean> {
  const { context, reasoning } = embedded;
  const values = [
    memory.packet_id,
    memory.content_hash,
    model,
    ...parametersOf(embedded),
    context && contextId,
    context && toVectorLiteral(context),
    ...(reasoning ? [memory.reasoning, ...parametersOf(reasoning)] : []),
  ];
  // One statement stores both or neither; the case expression keeps their order.
  const whole = 'embeddings.store_vectors($1, $2, $3, $4, $5, $6, $7, $8, $9)';
  const { rows } = await pool.query<{ stored: boolean }>(
    reasoning
      ? `select case when embeddings.store_reasoning($1, $10, $3, $11, $12, $13, $14) then ${whole} else false end as stored`
      : `select ${whole} as stored`,
    values,
  );
  return rows[0]?.stored === true;
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
