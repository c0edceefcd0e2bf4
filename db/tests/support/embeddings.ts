// Vectors without an embedder: a text means the words that are in it, and the steps of the embedding job run in SQL.
import type { Sessions } from './sessions.ts';

export interface WordModel {
  name: string;
  dimensions: number;
  /** The vector of a text as pgvector reads it, padded to 1536 dimensions. */
  vectorOf(text: string): string;
}

/** A model with one dimension for each word, and one of this weight that all texts share. */
export function wordModel(words: readonly string[], shared = 0.2): WordModel {
  return {
    name: 'words',
    dimensions: words.length + 1,
    vectorOf(text) {
      const vector = [shared, ...words.map((word) => (text.toLowerCase().includes(word) ? 1 : 0))];
      const length = Math.hypot(...vector);
      const padding = new Array<number>(1536 - vector.length).fill(0);
      return JSON.stringify([...vector.map((value) => value / length), ...padding]);
    },
  };
}

/** Makes the model serve, as the first gateway on a database does. */
export const serveModel = (db: Sessions, { name, dimensions }: WordModel) =>
  db.asWorker('select embeddings.adopt_embedding_model($1, $2)', [name, dimensions]);

/** Embeds all memories that wait for it, and their contexts, until no memory waits. */
export async function embedPending(db: Sessions, { name, vectorOf }: WordModel): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await db.asWorker('select embeddings.requeue_stale_contexts()');
    const query = "select * from embeddings.lease_pending_embeddings($1, 1000, interval '1 minute')";
    const pending = await db.asWorker(query, [name]);
    if (pending.length === 0) return;
    const contexts = await db.asWorker('select * from embeddings.refresh_contexts($1)', [
      pending.map(({ packet_id }) => packet_id),
    ]);
    for (const { packet_id, content, content_hash, reasoning } of pending) {
      const { context_id, context } = contexts.find((one) => one.packet_id === packet_id)!;
      if (reasoning !== null) {
        await db.asWorker("select embeddings.store_reasoning($1, $2, $3, array[$4], '{}', '{}', '{}')", [
          packet_id,
          reasoning,
          name,
          vectorOf(reasoning),
        ]);
      }
      await db.asWorker("select embeddings.store_vectors($1, $2, $3, array[$4], '{}', '{}', '{}', $5, $6)", [
        packet_id,
        content_hash,
        name,
        vectorOf(content),
        context_id,
        context === null ? null : vectorOf(context),
      ]);
    }
  }
  throw new Error('memories still wait for their vectors after 20 rounds');
}
