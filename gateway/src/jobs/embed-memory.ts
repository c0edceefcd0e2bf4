// The vectors of one memory: those that are embedded at once, or the next chunks of a long one.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { WorkerPool } from '../database/index.ts';
import { type Chunk, type Embedder, isKnown, type TextVector, toVectorLiteral } from '../embeddings/index.ts';

const CHUNKS_PER_TURN = 16;
// A text of this length has a handful of chunks.
const LONG_TEXT = 4_000;
// Dividing a long memory takes seconds, so its chunks are kept from one turn to the next.
const MAX_DIVIDED_CHARACTERS = 8 * 1024 * 1024;

export interface Pending {
  packet_id: string;
  content: string;
  content_hash: Buffer;
  attempts: number;
  /** The text of the steps of a reasoning trace; null for other memories. */
  reasoning: string | null;
  tenant_id: string;
  /** 0, or the next chunk of a memory that lacks only chunks; those of its reasoning come after those of its content. */
  next_chunk: number;
}

export interface Work {
  pool: WorkerPool;
  embedder: Embedder;
  signal: AbortSignal | undefined;
  onEmbedded?: (memories: number, vectors: number, tenantId: string) => void;
}

/** A memory together with the one before it in its thread. */
export interface Context {
  context_id: string | null;
  context: string | null;
}

/** Whether its chunks are embedded a few at a time, in turns with other memories. */
const isLongOne = ({ content, reasoning }: Pending) => Math.max(content.length, reasoning?.length ?? 0) > LONG_TEXT;

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

/** Embeds a memory as a whole and, where these are few, its chunks. True if it is finished. */
export async function embedWhole(work: Work, memory: Pending, { context_id, context }: Context): Promise<boolean> {
  const isLong = isLongOne(memory);
  const vectors = await vectorsOf(work, memory, context, isLong);
  if (!(await store(work, memory, vectors, context_id, isLong))) return false;
  work.onEmbedded?.(isLong ? 0 : 1, countOf(vectors), memory.tenant_id);
  return !isLong;
}

async function vectorsOf(
  work: Work,
  { content, reasoning }: Pending,
  context: string | null,
  isLong: boolean,
): Promise<Vectors> {
  const divide = async (text: string | null) =>
    isLong || text === null ? [] : untilAborted(work.embedder.chunk(text), work.signal);
  const chunks = await divide(content);
  const reasoningChunks = await divide(reasoning);
  const texts = [
    content,
    ...chunks.map(({ text }) => text),
    ...(context === null ? [] : [context]),
    ...(reasoning === null ? [] : [reasoning, ...reasoningChunks.map(({ text }) => text)]),
  ];
  const vectors: TextVector[] = [];
  for (let start = 0; start < texts.length; start += CHUNKS_PER_TURN) {
    vectors.push(...(await embedTexts(work, texts.slice(start, start + CHUNKS_PER_TURN))));
  }
  const ofContent = vectors.splice(0, chunks.length + 1);
  return {
    vectors: ofContent,
    chunks,
    context: context === null ? null : (vectors.shift() ?? null),
    reasoning: reasoning === null ? null : { vectors, chunks: reasoningChunks },
  };
}

async function embedTexts({ embedder, signal }: Work, texts: string[]): Promise<TextVector[]> {
  const known: string[] = [];
  for (const text of texts) if (await untilAborted(isKnown(embedder, text), signal)) known.push(text);
  const vectors = known.length > 0 ? await untilAborted(embedder.embed(known), signal) : [];
  return texts.map((text) => vectors[known.indexOf(text)] ?? null);
}

/** Embeds the next chunks of a long memory. True once all of them are. */
export async function embedChunks(work: Work, memory: Pending): Promise<boolean> {
  const { pool, embedder, onEmbedded } = work;
  const { packet_id, content_hash, reasoning, next_chunk } = memory;
  const { ofContent, ofReasoning } = await divided(work, memory);
  const total = ofContent.length + ofReasoning.length;
  const isReasoning = next_chunk > ofContent.length;
  const first = isReasoning ? next_chunk - ofContent.length : next_chunk;
  const chunks = (isReasoning ? ofReasoning : ofContent).slice(first - 1, first - 1 + CHUNKS_PER_TURN);
  const texts = chunks.map(({ text }) => text);
  const vectors = await embedTexts(work, texts);
  const next = next_chunk + chunks.length;
  const isLast = next > total;
  const { rows } = await pool.query<{ stored: boolean }>(
    'select embeddings.store_chunks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as stored',
    [
      ...[packet_id, content_hash, reasoning, embedder.model, isReasoning ? 'reasoning' : 'content', first],
      ...parametersOf({ vectors, chunks }),
      isLast ? null : next,
      ofContent.length,
    ],
  );
  if (!rows[0]?.stored) return false;
  onEmbedded?.(isLast ? 1 : 0, vectors.filter((vector) => vector !== null).length, memory.tenant_id);
  return isLast;
}

interface Divided {
  ofContent: Chunk[];
  ofReasoning: Chunk[];
}

const dividedMemories = new LRUCache<string, Promise<Divided>>({ maxSize: MAX_DIVIDED_CHARACTERS });

/** The chunks of a long memory, divided once in this process as long as there is room to keep them. */
function divided({ embedder, signal }: Work, { packet_id, content, reasoning }: Pending): Promise<Divided> {
  const key = createHash('sha256')
    .update(JSON.stringify([embedder.model, packet_id, content, reasoning]))
    .digest('base64');
  let dividing = dividedMemories.get(key);
  if (!dividing) {
    const both = [embedder.chunk(content), reasoning === null ? [] : embedder.chunk(reasoning)] as const;
    dividing = Promise.all(both).then(([ofContent, ofReasoning]) => ({ ofContent, ofReasoning }));
    dividedMemories.set(key, dividing, { size: content.length + (reasoning?.length ?? 0) });
    dividing.catch(() => dividedMemories.delete(key));
  }
  return untilAborted(dividing, signal);
}

/** What was promised, or a rejection as soon as the job is to stop: a provider may take longer than there is time. */
function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

const parametersOf = ({ vectors, chunks }: Embedded) => [
  vectors.map((vector) => vector && toVectorLiteral(vector)),
  chunks.map(({ text }) => text),
  chunks.map(({ start }) => start),
  chunks.map(({ end }) => end),
];

async function store(
  { pool, embedder: { model } }: Work,
  memory: Pending,
  embedded: Vectors,
  contextId: string | null,
  chunksFollow: boolean,
): Promise<boolean> {
  const { context, reasoning } = embedded;
  const values = [
    memory.packet_id,
    memory.content_hash,
    model,
    ...parametersOf(embedded),
    context && contextId,
    context && toVectorLiteral(context),
    chunksFollow,
    ...(reasoning ? [memory.reasoning, ...parametersOf(reasoning)] : []),
  ];
  // One statement stores both or neither; the case expression keeps their order.
  const whole = 'embeddings.store_vectors($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';
  const { rows } = await pool.query<{ stored: boolean }>(
    reasoning
      ? `select case when embeddings.store_reasoning($1, $11, $3, $12, $13, $14, $15) then ${whole} else false end as stored`
      : `select ${whole} as stored`,
    values,
  );
  return rows[0]?.stored === true;
}
