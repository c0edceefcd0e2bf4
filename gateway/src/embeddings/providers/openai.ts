import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { Logger } from 'pino';
import { openaiClient } from '../../openai/client.ts';
import type { Embedder, EmbeddingConfig } from '../embedder.ts';
import { EmbedderUnavailable, EmbeddingRejected, normalised, STORED_DIMENSIONS } from '../embedder.ts';
import type { EmbeddingProvider } from '../provider.ts';
import { createTextWorker, MODEL_DIR } from '../text-worker.ts';

export interface OpenaiTuning {
  maxRetries: number;
  /** This many failed requests one after the other, and the provider counts as down … */
  failuresToOpen: number;
  /** … for so long; then a single request tries it. */
  halfOpenAfterMs: number;
}

const TUNING: OpenaiTuning = { maxRetries: 2, failuresToOpen: 5, halfOpenAfterMs: 10_000 };
const LIMITS = { maxTokens: 800, overlapTokens: 100 };
const MOST_TOKENS_A_CHARACTER = 4;

// OpenAI takes 8,192 tokens a text and 300,000 a request. A token is at least a byte: it takes all of these.
const MOST_BYTES_A_TEXT = 8191;
const MOST_BYTES_A_REQUEST = 256 * 1024;
const MOST_TEXTS_A_REQUEST = 128;

/** OpenAI, or another server with the same API. Any model name may be one of its models. */
export const openaiProvider: EmbeddingProvider = {
  name: 'openai',
  canServe: (_model, { apiKey, baseUrl }) => Boolean(apiKey || baseUrl),
  dimensionsOf: () => null,
  concurrency: 4,
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
  const { model, dimensions, apiKey, baseUrl, timeoutMs } = config;
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
  const worker = createTextWorker({ modelDir: MODEL_DIR, inference: false }, logger);

  // Other models may refuse the parameter; of those, one that answers with more than we store is asked again.
  let asksDimensions = /(^|\/)text-embedding-3-/.test(model);

  async function embedBatch(texts: string[]): Promise<number[][]> {
    const vectors = await request(texts, asksDimensions);
    if (asksDimensions || !vectors.some((vector) => vector.length > dimensions)) return vectors.map(checked);
    const shorter = await request(texts, true).catch((error: unknown) => {
      if (error instanceof EmbeddingRejected) return vectors; // it can't: complain of the length then
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
        // The client's own timeout ends with the headers, and a server may ask for long pauses in between.
        const signal = AbortSignal.timeout(timeoutMs * (maxRetries + 1));
        try {
          const answer = await client.embeddings.create(body, { signal });
          return inOrder(answer.data, input.length);
        } catch (error) {
          throw signal.aborted ? new EmbedderUnavailable('the embedding provider timed out') : translated(error, model);
        }
      });
    } catch (error) {
      if (error instanceof BrokenCircuitError)
        throw new EmbedderUnavailable('the embedding provider is down; not tried');
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
      return text.length * MOST_TOKENS_A_CHARACTER <= LIMITS.maxTokens ? [] : worker.chunk(text, LIMITS);
    },
    close: worker.close,
  };
}

const room = new Uint8Array(MOST_BYTES_A_TEXT);
const encoder = new TextEncoder();

/** What no provider refuses for its size: neither nothing, nor more than the model reads. */
function acceptable(text: string): string {
  if (text.length * 3 <= MOST_BYTES_A_TEXT) return text || ' ';
  return text.slice(0, encoder.encodeInto(text, room).read);
}

function* batches(texts: string[]): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = Buffer.byteLength(text);
    if (batch.length === MOST_TEXTS_A_REQUEST || bytes + size > MOST_BYTES_A_REQUEST) {
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
    // Some servers leave the index out and keep the order.
    const index = typeof row?.index === 'number' ? row.index : at;
    const vector = row?.embedding;
    if (index in vectors && Array.isArray(vector) && vector.every(Number.isFinite)) vectors[index] = vector;
  });
  if (rows.length !== count || vectors.includes(undefined)) {
    throw new EmbedderUnavailable('the embedding provider answered with something other than a vector per text');
  }
  return vectors as number[][];
}

/** Keeps status and code alone, and no `cause`: a provider's message may quote the text or the key. */
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

/** A code is a word; anything else might be a quotation. */
const inBrackets = (code: unknown): string =>
  typeof code === 'string' && /^[A-Za-z_]{1,40}$/.test(code) ? ` (${code})` : '';
