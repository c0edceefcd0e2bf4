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
  const pool = gateway.database.workerPool;
  await pool.query('select l9_private.requeue_stale_contexts()');
  const { rows } = await pool.query(`
    select p.packet_id, p.content, p.content_hash, c.context_id, c.context
    from l9_private.refresh_contexts(array(select packet_id from l9_private.pending_embeddings)) c
    join public.packet_store p using (packet_id)
    where not c.is_busy`);
  for (const { packet_id, content, content_hash, context_id, context } of rows) {
    const vectors = await embedder.embed(context === null ? [content] : [content, context]);
    const [own, together] = vectors.map((vector) =>
      JSON.stringify([...vector, ...new Array(1536 - embedder.dimensions).fill(0)]),
    );
    await pool.query("select l9_private.store_vectors($1, $2, $3, array[$4], '{}', '{}', '{}', $5, $6)", [
      ...[packet_id, content_hash, embedder.model, own, context_id, together ?? null],
    ]);
  }
}
