import type { Logger } from 'pino';
import { ConfigError, LOCAL_DIMENSIONS, LOCAL_MODEL, type Runtime } from '../../config/config.ts';
import { bundledModel, FLOAT_MODEL, isBundled, isNativeInstalled, NATIVE_PACKAGE, runtimesOf } from '../bundled.ts';
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

interface LocalOptions {
  model?: string;
  /** The runtime that is asked for; null: the fastest that makes the model's vectors. */
  runtime?: Runtime | null;
  nativePackage?: string;
  modelDir?: string;
  idleMs?: number | undefined;
}

/** The bundled models, one of which runs in a process beside the gateway. */
export const localProvider: EmbeddingProvider = {
  name: 'local',
  variables: [],
  configured: ({ runtime }) => ({ model: bundledModel(runtime), dimensions: LOCAL_DIMENSIONS }),
  canServe: isBundled,
  dimensionsOf: () => LOCAL_DIMENSIONS,
  // It has one thread. A text of the backlog takes as long as several queries, so with a rest most queries wait for no such text.
  capacity: { calls: 1, backlogCalls: 1, textsPerCall: 1, restFactor: 4 },
  open({ model, dimensions, runtime = null, idleMs }, logger) {
    // Under another name its vectors would be stored as those of another model.
    if (!isBundled(model) || dimensions !== LOCAL_DIMENSIONS) {
      throw new RangeError(
        `the bundled models are EMBEDDING_MODEL=${LOCAL_MODEL} and ${FLOAT_MODEL} with ${LOCAL_DIMENSIONS} dimensions, ` +
          `not ${model} with ${dimensions}; other models need another provider`,
      );
    }
    return localEmbedder(logger, { model, runtime, idleMs });
  },
};

/** Starts loading the model, without waiting for it. */
export function localEmbedder(logger: Logger, options: LocalOptions = {}): LocalEmbedder {
  const {
    model = LOCAL_MODEL,
    runtime = null,
    nativePackage = NATIVE_PACKAGE,
    modelDir = MODEL_DIR,
    idleMs = 0,
  } = options;
  if (runtime === 'native' && !isNativeInstalled(nativePackage)) {
    throw new ConfigError(
      `L9_EMBEDDER=native: the package ${nativePackage} is not installed: run \`npm install\` without --omit=optional, or set L9_EMBEDDER=wasm`,
    );
  }
  const runtimes = runtimesOf(model, runtime);
  if (runtime && !runtimes.includes(runtime)) {
    logger.warn(
      `L9_EMBEDDER=${runtime}: the vectors of ${model} are made by ${runtimes[0]} only; \`l9-memory reembed --model ${FLOAT_MODEL}\` changes to a model that ${runtime} can run`,
    );
  }
  const worker = createTextWorker({ modelDir, inference: { model, runtimes, nativePackage } }, logger, idleMs);
  worker.warmUp();
  return {
    model,
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
    warmUp: worker.warmUp,
    runtime: worker.runtime,
    close: worker.close,
    process: worker.process,
  };
}
