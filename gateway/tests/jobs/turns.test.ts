// Memories of every length wait for their vectors in one queue, and a long one holds up no other.

import { chunkText } from '../../src/embeddings/chunk.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const countWords = () => 1;
const LIMITS = { maxTokens: 254, overlapTokens: 38 };

/** A text of about so many characters, of 300 words that begin with its name. */
const textOf = (name: string, length: number) =>
  Array.from({ length: length / (name.length + 4) }, (_, place) => `${name}${100 + (place % 300)}`).join(' ');

const vectorOf = (text: string) => Array.from({ length: 8 }, (_, i) => (i === text.length % 8 ? 1 : 0));

/** An embedder that lets a test look after each call, or wait in it. */
const watched = (onTexts: (texts: readonly string[]) => void | Promise<void>): Embedder => ({
  model: 'stand-in',
  dimensions: 8,
  chunk: async (text) => chunkText(text, countWords, LIMITS),
  embed: async (texts) => {
    await onTexts(texts);
    return texts.map(vectorOf);
  },
  close: async () => {},
});

/** What got a vector, in the order in which it did: a memory as a whole, or the number of a chunk of it. */
const storedBy = async (gateway: TestGateway): Promise<{ packet_id: string; chunk_index: number }[]> =>
  gateway.asWorker(
    "select packet_id, chunk_index from public.memory_embeddings where embedding_type = 'content' order by created_at, embedding_id",
  );

describe('the embedding job', () => {
  it('embeds short memories in turns with the chunks of a long one that came before them', async () => {
    let longChunks = 0;
    const saved = Promise.withResolvers<void>();
    const gateway = await startTestGateway({
      embedder: watched(async (texts) => {
        longChunks += texts.filter((text) => text.startsWith('long') && text.length < 10_000).length;
        // By now most of the long one still waits.
        if (longChunks > 40) await saved.promise;
      }),
    });
    try {
      const long = await gateway.save('C', textOf('long', 880_000));
      while (longChunks <= 40) await new Promise((resolve) => setTimeout(resolve, 20));
      const medium = await gateway.save('C', textOf('medium', 30_000));
      const items = Array.from({ length: 118 }, (_, place) => ({ data: { content: `The small memory ${place}.` } }));
      const { stored } = await gateway.call('C', 'memory_store', {
        items: items.map((it) => ({ ...it, project_id: 'l9' })),
      });
      const small: string[] = stored.map(({ packet_id }: { packet_id: string }) => packet_id);
      expect(small).toHaveLength(118);
      saved.resolve();
      await gateway.embedded();

      const order = await storedBy(gateway);
      const placeOf = (id: string, chunk: number) =>
        order.findIndex(({ packet_id, chunk_index }) => packet_id === id && chunk_index === chunk);
      const chunksOf = (id: string) =>
        order.filter(({ packet_id, chunk_index }) => packet_id === id && chunk_index > 0);
      const total = chunksOf(long).length;
      expect(total).toBeGreaterThan(300);
      expect(chunksOf(long).map(({ chunk_index }) => chunk_index)).toStrictEqual(
        [...Array(total).keys()].map((n) => n + 1),
      );
      expect(placeOf(long, 0)).toBe(0);
      const places = small.map((id) => placeOf(id, 0));
      const [first, last] = [Math.min(...places), Math.max(...places)];
      const longBefore = (place: number) =>
        chunksOf(long).filter(({ chunk_index }) => placeOf(long, chunk_index) < place).length;
      // They don't wait for the long one, nor does it stand still for them.
      expect(longBefore(last)).toBeLessThan(total / 2);
      expect(longBefore(last)).toBeGreaterThan(longBefore(first));
      // The newest first.
      expect(places.at(-1)).toBeLessThan(places[0]!);
      // A memory with fewer chunks does not wait for one with more, either.
      expect(longBefore(placeOf(medium, chunksOf(medium).length))).toBeLessThan(total);
      const counts = await gateway.sql(
        'C',
        'select chunk_count from public.packet_store where packet_id = any($1) order by 1',
        [[medium, long]],
      );
      expect(counts.map(({ chunk_count }) => chunk_count)).toStrictEqual([chunksOf(medium).length, total]);
    } finally {
      saved.resolve();
      await gateway.close();
    }
  });

  it('goes on with a long memory where a stop left it, and begins again when its text has changed', async () => {
    const embedded: string[] = [];
    let isHeld = true;
    const embedder = watched(async (texts) => {
      embedded.push(...texts);
      if (isHeld && embedded.length > 60) await new Promise(() => {});
    });
    const first = await startTestGateway({ embedder });
    const { home } = first;
    const long = await first.save('C', textOf('first', 200_000));
    while (embedded.length <= 60) await new Promise((resolve) => setTimeout(resolve, 20));
    await first.instance.close();

    isHeld = false;
    embedded.length = 0;
    const second = await startTestGateway({ embedder, home });
    try {
      await second.embedded();
      const order = await storedBy(second);
      const total = order.length - 1;
      expect(total).toBeGreaterThan(80);
      expect(embedded.length).toBeLessThan(total - 30);
      await second.call('C', 'update_memory', { packet_id: long, content: textOf('other', 60_000) });
      await second.embedded();
      const chunks = await second.asWorker(
        'select chunk_text from public.memory_embeddings where packet_id = $1 and chunk_index > 0',
        [long],
      );
      expect(chunks.length).toBeGreaterThan(20);
      expect(chunks.filter(({ chunk_text }) => !chunk_text.startsWith('other'))).toStrictEqual([]);
    } finally {
      await second.close();
    }
  });

  it('embeds long steps of a reasoning trace in turns, too', async () => {
    const gateway = await startTestGateway({ embedder: watched(() => {}) });
    try {
      const steps = [...Array(8).keys()].map((n) => ({ thought: textOf(`step${n}x`, 3_000) }));
      const id = await gateway.save('C', textOf('answer', 9_000), { kind: 'reasoning_trace', envelope: { steps } });
      await gateway.embedded();
      const rows = await gateway.asWorker(
        'select embedding_type, min(chunk_index) as first, max(chunk_index) as last, count(*)::int as n from public.memory_embeddings where packet_id = $1 group by 1 order by 1',
        [id],
      );
      expect(rows.map(({ embedding_type }) => embedding_type)).toStrictEqual(['content', 'reasoning']);
      for (const { first, last, n } of rows) expect([first, last]).toStrictEqual([0, n - 1]);
      expect(rows.every(({ n }) => n > 3)).toBe(true);
    } finally {
      await gateway.close();
    }
  });
});
