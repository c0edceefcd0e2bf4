import type { Logger } from 'pino';
import type { EmbeddingConfig } from '../config/config.ts';
import type { Embedder } from './embedder.ts';
import type { EmbeddingProvider } from './provider.ts';
import { localProvider } from './providers/local.ts';
import { openaiProvider } from './providers/openai.ts';

export { type EmbeddingConfig, LOCAL_DIMENSIONS, LOCAL_MODEL } from '../config/config.ts';
export type { Chunk, Embedder, TextVector } from './embedder.ts';
export { EmbedderUnavailable, EmbeddingRejected, isKnown, STORED_DIMENSIONS, toVectorLiteral } from './embedder.ts';

/** In order of precedence: the first that can serve a model does. */
const providers: readonly EmbeddingProvider[] = [localProvider, openaiProvider];

export const createEmbedder = async (config: EmbeddingConfig, logger: Logger): Promise<Embedder> =>
  providers.find(({ name }) => name === config.provider)!.open(config, logger);

/** The provider that can serve this model, or null if none is configured. */
export const providerOf = (config: EmbeddingConfig, model: string): EmbeddingProvider | null =>
  providers.find((provider) => provider.canServe(model, config)) ?? null;

/** The configuration for another model than the configured one, or null if no provider can serve it. */
export function configFor(config: EmbeddingConfig, model: string, dimensions: number): EmbeddingConfig | null {
  const provider = providerOf(config, model);
  return provider && { ...config, provider: provider.name, model, dimensions };
}
