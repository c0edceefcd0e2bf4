import type { Logger } from 'pino';
import type { EmbeddingConfig, EmbeddingSettings } from '../config/config.ts';
import type { Embedder } from './embedder.ts';
import type { EmbeddingProvider } from './provider.ts';
import { localProvider } from './providers/local.ts';
import { openaiProvider } from './providers/openai.ts';

export { type EmbeddingConfig, LOCAL_DIMENSIONS, LOCAL_MODEL } from '../config/config.ts';
export type { Chunk, Embedder, TextVector } from './embedder.ts';
export {
  EmbedderUnavailable,
  EmbeddingRejected,
  isKnown,
  STORED_DIMENSIONS,
  toVectorLiteral,
  toVectorParameter,
} from './embedder.ts';

/** The provider of any model comes last: the first that can serve a model does, and the last that is configured is the default. */
const providers: readonly EmbeddingProvider[] = [localProvider, openaiProvider];

/** What configures a provider, for messages. */
export const providerVariables = providers.flatMap(({ variables }) => variables).join(' or ');

/** The provider, model and dimensions for these settings. The bundled model is always configured. */
export function embeddingConfig(settings: EmbeddingSettings): EmbeddingConfig {
  const provider = providers.findLast((one) => one.configured(settings))!;
  return { ...settings, provider: provider.name, ...provider.configured(settings)! };
}

export const createEmbedder = async (config: EmbeddingConfig, logger: Logger): Promise<Embedder> =>
  providers.find(({ name }) => name === config.provider)!.open(config, logger);

/** The provider that can serve this model, or null if none is configured. */
export const providerOf = (settings: EmbeddingSettings, model: string): EmbeddingProvider | null =>
  providers.find((provider) => provider.canServe(model, settings)) ?? null;

/** The configuration for another model than the configured one, or null if no provider can serve it. */
export function configFor(config: EmbeddingConfig, model: string, dimensions: number): EmbeddingConfig | null {
  const provider = providerOf(config, model);
  return provider && { ...config, provider: provider.name, model, dimensions };
}
