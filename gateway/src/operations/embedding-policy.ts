// What operations do when the embedding provider is slow, down or rejects a text.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { EmbeddingRejected } from '../embeddings/index.ts';
import type { Models } from '../embeddings/models.ts';
import { KnownError } from '../errors.ts';
import type { Embedding } from './operation.ts';

// Enough for a healthy provider. If it takes longer, similar memories are compared by their words.
const EMBED_CONTENT_WITHIN_MS = 1_000;

export function embeddingPolicy(models: Models, logger: Logger): Embedding {
  return {
    async query(text) {
      try {
        return await models.embedQuery(text);
      } catch (error) {
        logger.warn({ name: (error as Error).name }, 'could not embed a query');
        if (error instanceof EmbeddingRejected)
          throw new KnownError('L9VAL', 'query: rejected by the embedding provider', 'query');
        // A hybrid search becomes a lexical one, and its answer says so.
        return null;
      }
    },
    async content(text) {
      const embedder = models.serving();
      const vectors = embedder?.embed([text]).catch(() => null);
      const inTime = await Promise.race([vectors, sleep(EMBED_CONTENT_WITHIN_MS, null, { ref: false })]);
      return embedder && inTime ? { vector: inTime[0]!, model: embedder.model } : null;
    },
  };
}
