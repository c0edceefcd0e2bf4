// What memories say in the model-based test: a few words, so that many say the same, and an embedder that knows no others.
import type { Embedder } from '../../../src/embeddings/index.ts';
import type { House } from '../../support/house.ts';

/** None is the stem of another. */
export const words = ['basalt', 'cobalt', 'garnet', 'indigo', 'jasper', 'quartz', 'topaz'];
/** The word that every memory holds, so that a search for it finds them all. */
export const EVERYWHERE = 'memory';

/** At once, and without a model: a text counts by its words. */
export const embedder: Embedder = {
  model: 'words',
  dimensions: words.length + 1,
  embed: async (texts) =>
    texts.map((text) => {
      const vector = [1, ...words.map((word) => (text.toLowerCase().includes(word) ? 1 : 0))];
      return vector.map((value) => value / Math.hypot(...vector));
    }),
  chunk: async () => [],
  close: async () => {},
};

/** As the embedding job does it, but now. */
export async function embedAll({ gateway }: House) {
  const { rows } = await gateway.database.workerPool.query(
    'select packet_id, content, content_hash from public.packet_store join l9_private.pending_embeddings using (packet_id)',
  );
  const vectors = await embedder.embed(rows.map(({ content }) => content));
  for (const [place, { packet_id, content_hash }] of rows.entries()) {
    const vector = [...vectors[place]!, ...new Array(1536 - embedder.dimensions).fill(0)];
    await gateway.database.workerPool.query(
      "select l9_private.store_embeddings($1, $2, $3, array[$4], '{}', '{}', '{}')",
      [packet_id, content_hash, embedder.model, JSON.stringify(vector)],
    );
  }
}
