import type { Embedder } from '../../src/embeddings/index.ts';

/** What vectors mean plays no part in these tests, and the model takes its time: any will do. */
export const standIn: Embedder = {
  model: 'stand-in',
  dimensions: 8,
  embed: async (texts) => texts.map((text) => Array.from({ length: 8 }, (_, i) => (i === text.length % 8 ? 1 : 0))),
  chunk: async () => [],
  close: async () => {},
};
