import type { Logger } from 'pino';
import { LOCAL_DIMENSIONS, LOCAL_MODEL } from '../../config/config.ts';
import type { Embedder } from '../embedder.ts';
import type { EmbeddingProvider } from '../provider.ts';
import type { TextWorker } from '../text-worker.ts';
import { createTextWorker, MODEL_DIR } from '../text-worker.ts';

// 256 tokens, less the two that mark both ends.
const LIMITS = { maxTokens: 254, overlapTokens: 38 };
// No character becomes more wordpieces than this (a Korean syllable becomes three letters).
const MAX_TOKENS_PER_CHARACTER = 4;

export interface LocalEmbedder extends Embedder {
  /** Resolves when the model is loaded; rejects when it can't be. */
  ready(): Promise<void>;
  /** The current process, for tests that kill it. */
  process: TextWorker['process'];
}

/** The bundled model, which runs in a process beside the gateway. */
export const localProvider: EmbeddingProvider = {
  name: 'local',
  variables: [],
  configured: () => ({ model: LOCAL_MODEL, dimensions: LOCAL_DIMENSIONS }),
  canServe: (model) => model === LOCAL_MODEL,
  dimensionsOf: () => LOCAL_DIMENSIONS,
  // It has one thread. A text of the backlog takes as long as several queries, so with a rest most queries wait for no such text.
  capacity: { calls: 1, backlogCalls: 1, textsPerCall: 1, restFactor: 4 },
  open({ model, dimensions, idleMs }, logger) {
    // Under another name its vectors would be stored as those of another model.
    if (model !== LOCAL_MODEL || dimensions !== LOCAL_DIMENSIONS) {
      throw new RangeError(
        `the bundled model is EMBEDDING_MODEL=${LOCAL_MODEL} with ${LOCAL_DIMENSIONS} dimensions, ` +
          `not ${model} with ${dimensions}; other models need another provider`,
      );
    }
    return localEmbedder(logger, { idleMs });
  },
};

/** Starts loading the model, without waiting for it. */
export function localEmbedder(logger: Logger, { modelDir = MODEL_DIR, idleMs = 0 } = {}): LocalEmbedder {
  const worker = createTextWorker({ modelDir, inference: true }, logger, idleMs);
  worker.warmUp();
  return {
    model: LOCAL_MODEL,
    dimensions: LOCAL_DIMENSIONS,
    embed: worker.embed,
    knows: worker.knows,
    async chunk(text) {
      return text.length * MAX_TOKENS_PER_CHARACTER <= LIMITS.maxTokens ? [] : worker.chunk(text, LIMITS);
    },
    ready: worker.ready,
    // Must not count as use: health checks would keep the model loaded.
    async isReady() {
      if (!worker.isResting()) await worker.ready();
    },
    close: worker.close,
    process: worker.process,
  };
}
