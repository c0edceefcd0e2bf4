import type { Logger } from 'pino';
import type { EmbeddingConfig } from '../config.ts';
import type { Embedder } from './embedder.ts';

/** A source of vectors. A new one is a file in providers/ and a line in the list of providers. */
export interface EmbeddingProvider {
  name: EmbeddingConfig['provider'];
  /** Whether it has this model, with what the configuration gives it. */
  canServe(model: string, config: EmbeddingConfig): boolean;
  /** The dimensions of a model where the model alone decides them; else null, and the configuration does. */
  dimensionsOf(model: string): number | null;
  /** How many texts it embeds at the same time without getting slower. */
  concurrency: number;
  /** Calls nobody yet, so that a provider that is down does not keep the gateway from starting. */
  open(config: EmbeddingConfig, logger: Logger): Embedder;
}
