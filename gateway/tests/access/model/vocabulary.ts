// The contents of memories in the model-based test: a few words, so that many are equal, and an embedder of these words.
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Embedder } from '../../../src/embeddings/index.ts';
import type { TestGateway } from '../../support/gateway.ts';

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
export async function embedAll({ instance }: TestGateway) {
  const pool = instance.database.workerPool;
  await pool.query('select embeddings.requeue_stale_contexts()');
  for (let tries = 0; tries < 200; tries++) {
    const { rows } = await pool.query(`
      select p.packet_id, p.content, p.content_hash, c.is_busy, c.context_id, c.context
      from embeddings.refresh_contexts(array(select packet_id from embeddings.pending_embeddings order by 1)) c
      join public.packet_store p using (packet_id)`);
    if (rows.length === 0) return;
    await store(
      pool,
      rows.filter(({ is_busy }) => !is_busy),
    );
    // The job of the gateway is at the others.
    if (rows.some(({ is_busy }) => is_busy)) await sleep(10);
  }
  throw new Error('some memories were busy all the time');
}

// biome-ignore lint/suspicious/noExplicitAny: as the query has them
async function store(pool: pg.Pool, rows: any[]) {
  for (const { packet_id, content, content_hash, context_id, context } of rows) {
    const vectors = await embedder.embed(context === null ? [content] : [content, context]);
    const [own, together] = vectors.map((vector) =>
      JSON.stringify([...vector, ...new Array(1536 - embedder.dimensions).fill(0)]),
    );
    const stored = pool.query("select embeddings.store_vectors($1, $2, $3, array[$4], '{}', '{}', '{}', $5, $6)", [
      packet_id,
      content_hash,
      embedder.model,
      own,
      context_id,
      together ?? null,
    ]);
    // Another one is at the memory: it is left for the next round, as by the job.
    await stored.catch((error: { code: string }) => {
      if (error.code !== '55P03') throw error;
    });
  }
}
