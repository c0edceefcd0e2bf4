import type { Logger } from 'pino';
import type { EmbeddingConfig, EmbeddingSettings } from '../config/config.ts';
import type { Embedder } from './embedder.ts';

/** How much of a provider may be used at once. */
export interface Capacity {
  /** The calls that it answers at the same time without slowing down. */
  calls: number;
  /** How many of them may be for the backlog. */
  backlogCalls: number;
  /** The texts in one call. Calls are short, so that a query never waits long for one. */
  textsPerCall: number;
  /** While queries arrive, the backlog rests after each call for this many times as long as the call took. */
  restFactor: number;
}

/** A source of vectors. To add one, add a file in providers/ and an entry in the list of providers. */
export interface EmbeddingProvider {
  name: string;
  /** Each of these variables of the environment configures it, and messages name them. */
  variables: readonly string[];
  /** The model and the dimensions that the environment asks of it; null if it is not configured. */
  configured(settings: EmbeddingSettings): { model: string; dimensions: number } | null;
  /** True if it can serve this model with this configuration. */
  canServe(model: string, settings: EmbeddingSettings): boolean;
  /** The dimensions of a model if they are fixed; null if the configuration decides them. */
  dimensionsOf(model: string): number | null;
  capacity: Capacity;
  /** Opens an embedder without calling the provider, so that the gateway can start while the provider is down. */
  open(config: EmbeddingConfig, logger: Logger): Embedder;
}
