import type { Logger } from 'pino';
import type { Embedder, EmbeddingConfig } from './embedder.ts';
import { STORED_DIMENSIONS } from './embedder.ts';
import { LOCAL_DIMENSIONS, LOCAL_MODEL, localEmbedder } from './providers/local.ts';
import { openaiEmbedder } from './providers/openai.ts';

export { cachedQueryEmbedder } from './cache.ts';
export type { Chunk, Embedder, EmbeddingConfig } from './embedder.ts';
export { EmbedderUnavailable, EmbeddingRejected, STORED_DIMENSIONS, toVectorLiteral } from './embedder.ts';
export { LOCAL_DIMENSIONS, LOCAL_MODEL } from './providers/local.ts';

/** Reaches nobody yet: a provider that is down must not keep the gateway from starting. */
export async function createEmbedder(config: EmbeddingConfig, logger: Logger): Promise<Embedder> {
  const { provider, model, dimensions } = config;
  if (provider === 'openai') {
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > STORED_DIMENSIONS) {
      throw new RangeError(`EMBEDDING_DIMENSIONS must be from 1 to ${STORED_DIMENSIONS}, not ${dimensions}`);
    }
    return openaiEmbedder(config, logger);
  }
  // Another name here would file these vectors as another model's.
  if (model !== LOCAL_MODEL || dimensions !== LOCAL_DIMENSIONS) {
    throw new RangeError(
      `the embedded model is EMBEDDING_MODEL=${LOCAL_MODEL} with ${LOCAL_DIMENSIONS} dimensions, ` +
        `not ${model} with ${dimensions}; other models need OPENAI_API_KEY or OPENAI_BASE_URL`,
    );
  }
  return localEmbedder(logger);
}
