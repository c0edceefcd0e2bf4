import type { Embedder } from '../../src/embeddings/index.ts';

/** An embedder with arbitrary vectors, for tests that do not depend on meaning. It is faster than the model. */
export const standIn: Embedder = {
  model: 'stand-in',
  dimensions: 8,
  embed: async (texts) => texts.map((text) => Array.from({ length: 8 }, (_, i) => (i === text.length % 8 ? 1 : 0))),
  chunk: async () => [],
  close: async () => {},
};
