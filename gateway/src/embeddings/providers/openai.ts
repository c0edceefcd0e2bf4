import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { Logger } from 'pino';
import { openaiClient } from '../../base/openai-client.ts';
import type { Embedder, EmbeddingConfig } from '../embedder.ts';
import { EmbedderUnavailable, EmbeddingRejected, normalised, STORED_DIMENSIONS } from '../embedder.ts';
import type { EmbeddingProvider } from '../provider.ts';
import { createTextWorker, MODEL_DIR } from '../text-worker.ts';

export interface OpenaiTuning {
  maxRetries: number;
  /** After this many consecutive failures the circuit breaker opens. */
  failuresToOpen: number;
  /** The breaker then rejects requests for this long, before a single request tests the provider. */
  halfOpenAfterMs: number;
}

const TUNING: OpenaiTuning = { maxRetries: 2, failuresToOpen: 5, halfOpenAfterMs: 10_000 };
const LIMITS = { maxTokens: 800, overlapTokens: 100 };
const MAX_TOKENS_PER_CHARACTER = 4;

// OpenAI accepts 8,192 tokens per text and 300,000 per request. A token has at least one byte, so these limits are safe.
const MAX_BYTES_PER_TEXT = 8191;
const MAX_BYTES_PER_REQUEST = 256 * 1024;
const MAX_TEXTS_PER_REQUEST = 128;

/** OpenAI, or another server with the same API. It is assumed to have any model. */
export const openaiProvider: EmbeddingProvider = {
  name: 'openai',
  variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  configured: ({ apiKey, baseUrl, model, dimensions }) =>
    apiKey || baseUrl ? { model: model ?? 'text-embedding-3-small', dimensions } : null,
  canServe: (_model, { apiKey, baseUrl }) => Boolean(apiKey || baseUrl),
  dimensionsOf: () => null,
  // A server on one's own machine may work on a single call at a time, so that a call for the backlog must be short.
  capacity: { calls: 12, backlogCalls: 4, textsPerCall: 8, restFactor: 0 },
  open(config, logger) {
    const { dimensions } = config;
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > STORED_DIMENSIONS) {
      throw new RangeError(`EMBEDDING_DIMENSIONS must be from 1 to ${STORED_DIMENSIONS}, not ${dimensions}`);
    }
    return openaiEmbedder(config, logger);
  },
};

/** A client of `/embeddings`. */
export function openaiEmbedder(config: EmbeddingConfig, logger: Logger, tuning: Partial<OpenaiTuning> = {}): Embedder {
  const { model, dimensions, apiKey, baseUrl, timeoutMs, idleMs } = config;
  if (!apiKey && !baseUrl)
    throw new Error('embeddings by OpenAI need OPENAI_API_KEY, or OPENAI_BASE_URL for another server');
  const { maxRetries, failuresToOpen, halfOpenAfterMs } = { ...TUNING, ...tuning };
  const client = openaiClient({ apiKey, baseUrl, timeoutMs, maxRetries });
  const breaker = circuitBreaker(
    handleWhen((error) => !(error instanceof EmbeddingRejected)),
    { breaker: new ConsecutiveBreaker(failuresToOpen), halfOpenAfter: halfOpenAfterMs },
  );
  breaker.onBreak(() => logger.warn({ model, retryInMs: halfOpenAfterMs }, 'embedding provider is down'));
  breaker.onReset(() => logger.info({ model }, 'embedding provider is back'));
  const worker = createTextWorker({ modelDir: MODEL_DIR, inference: null }, logger, idleMs);

  // Other models may refuse the parameter. They get it only after an answer with more dimensions than we store.
  let asksDimensions = /(^|\/)text-embedding-3-/.test(model);

  const closing = new AbortController();

  async function embedBatch(texts: string[]): Promise<number[][]> {
    const vectors = await request(texts, asksDimensions);
    if (asksDimensions || !vectors.some((vector) => vector.length > dimensions)) return vectors.map(checked);
    const shorter = await request(texts, true).catch((error: unknown) => {
      if (error instanceof EmbeddingRejected) return vectors; // the model does not support it, so the length is reported
      throw error;
    });
    const units = shorter.map(checked);
    asksDimensions = true;
    return units;
  }

  async function request(input: string[], withDimensions: boolean): Promise<number[][]> {
    const body = { model, input, encoding_format: 'float' as const, ...(withDimensions && { dimensions }) };
    try {
      return await breaker.execute(async () => {
        // The timeout of the client ends with the headers, and a server may request long pauses between retries.
        const limit = AbortSignal.timeout(timeoutMs * (maxRetries + 1));
        const signal = AbortSignal.any([limit, closing.signal]);
        try {
          const answer = await client.embeddings.create(body, { signal });
          return inOrder(answer.data, input.length);
        } catch (error) {
          if (closing.signal.aborted) throw new EmbedderUnavailable('the embedder is closed');
          throw limit.aborted ? new EmbedderUnavailable('the embedding provider timed out') : translated(error, model);
        }
      });
    } catch (error) {
      if (error instanceof BrokenCircuitError)
        throw new EmbedderUnavailable('the embedding provider is down; the request was not sent');
      throw error;
    }
  }

  function checked(vector: number[]): number[] {
    if (vector.length !== dimensions) {
      throw new EmbeddingRejected(
        `EMBEDDING_MODEL=${model} answers with ${vector.length} dimensions, ` +
          `not EMBEDDING_DIMENSIONS=${dimensions}`,
      );
    }
    const unit = normalised(vector);
    if (!unit) throw new EmbeddingRejected(`EMBEDDING_MODEL=${model} answered with a vector that has no direction`);
    return unit;
  }

  return {
    model,
    dimensions,
    async embed(texts) {
      const vectors: number[][] = [];
      for (const batch of batches(texts.map(acceptable))) vectors.push(...(await embedBatch(batch)));
      return vectors;
    },
    async chunk(text) {
      return text.length * MAX_TOKENS_PER_CHARACTER <= LIMITS.maxTokens ? [] : worker.chunk(text, LIMITS);
    },
    // A request that nobody waits for any more would keep the process alive.
    async close() {
      closing.abort();
      await worker.close();
    },
  };
}

const buffer = new Uint8Array(MAX_BYTES_PER_TEXT);
const encoder = new TextEncoder();

/** A text that every provider accepts: not empty, and not longer than the model reads. */
function acceptable(text: string): string {
  if (text.length * 3 <= MAX_BYTES_PER_TEXT) return text || ' ';
  return text.slice(0, encoder.encodeInto(text, buffer).read);
}

function* batches(texts: string[]): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = Buffer.byteLength(text);
    if (batch.length === MAX_TEXTS_PER_REQUEST || bytes + size > MAX_BYTES_PER_REQUEST) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(text);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

function inOrder(data: unknown, count: number): number[][] {
  const rows = Array.isArray(data) ? (data as Array<{ index?: unknown; embedding?: unknown } | null>) : [];
  const vectors = new Array<number[] | undefined>(count).fill(undefined);
  rows.forEach((row, at) => {
    // Some servers omit the index and keep the order.
    const index = typeof row?.index === 'number' ? row.index : at;
    const vector = row?.embedding;
    if (index in vectors && Array.isArray(vector) && vector.every(Number.isFinite)) vectors[index] = vector;
  });
  if (rows.length !== count || vectors.includes(undefined)) {
    throw new EmbedderUnavailable('the embedding provider answered with something other than a vector per text');
  }
  return vectors as number[][];
}

/** Keeps only status and code, without `cause`, because a message of the provider may quote the text or the key. */
function translated(error: unknown, model: string): Error {
  if (error instanceof EmbedderUnavailable) return error;
  if (error instanceof APIConnectionTimeoutError) return new EmbedderUnavailable('the embedding provider timed out');
  if (error instanceof APIConnectionError) {
    return new EmbedderUnavailable(`the embedding provider can't be reached${inBrackets(causeCode(error))}`);
  }
  if (!(error instanceof APIError) || error.status === undefined) {
    return new EmbedderUnavailable("the embedding provider's answer can't be read");
  }
  const status = `HTTP ${error.status}${inBrackets(error.code)}`;
  switch (error.status) {
    case 400:
    case 413:
    case 422:
      return new EmbeddingRejected(`the embedding provider refused the input: ${status}`);
    case 401:
    case 403:
      return new EmbedderUnavailable(`the embedding provider refused OPENAI_API_KEY: ${status}`);
    case 404:
      return new EmbedderUnavailable(`the embedding provider knows no EMBEDDING_MODEL=${model}: ${status}`);
    default:
      return new EmbedderUnavailable(`the embedding provider failed: ${status}`);
  }
}

function causeCode(error: unknown): unknown {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}

/** Only a single word is shown as a code; anything else might quote contents. */
const inBrackets = (code: unknown): string =>
  typeof code === 'string' && /^[A-Za-z_]{1,40}$/.test(code) ? ` (${code})` : '';
