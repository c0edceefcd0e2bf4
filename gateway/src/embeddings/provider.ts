import type { Logger } from 'pino';
import type { EmbeddingConfig } from '../config.ts';
import type { Embedder } from './embedder.ts';

/** A source of vectors. To add one, add a file in providers/ and an entry in the list of providers. */
export interface EmbeddingProvider {
  name: EmbeddingConfig['provider'];
  /** True if it can serve this model with this configuration. */
  canServe(model: string, config: EmbeddingConfig): boolean;
  /** The dimensions of a model if they are fixed; null if the configuration decides them. */
  dimensionsOf(model: string): number | null;
  /** How many texts it can embed at the same time without slowing down. */
  concurrency: number;
  /** Opens an embedder without calling the provider, so that the gateway can start while the provider is down. */
  open(config: EmbeddingConfig, logger: Logger): Embedder;
}
