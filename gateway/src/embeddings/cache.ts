// Two caches of vectors: one for queries, which repeat, and one for contents, which are embedded twice in a row.
import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder.ts';

const MAX_QUERIES = 2_000;
const MAX_CONTENTS = 256;
const MAX_CACHED_CHARACTERS = 16_384;

/** Calls `embed` once for each key. Calls under way are shared, and failed calls are not kept. */
function callCache(max: number, embed: (text: string) => Promise<number[]>) {
  const calls = new LRUCache<string, Promise<number[]>>({ max });
  return (text: string): Promise<number[]> => {
    const cached = calls.get(text);
    if (cached) return cached;
    const call = embed(text);
    calls.set(text, call);
    call.catch(() => {
      if (calls.peek(text) === call) calls.delete(text);
    });
    return call;
  };
}

const embedOne = (embedder: Pick<Embedder, 'embed'>) => async (text: string) => (await embedder.embed([text]))[0]!;

/** Embeds queries through a cache, since the same queries are asked again and again. */
export function cachedQueryEmbedder(
  embedder: Pick<Embedder, 'embed'>,
  { max = MAX_QUERIES }: { max?: number } = {},
): (text: string) => Promise<number[]> {
  const embed = callCache(max, embedOne(embedder));
  return (text) => embed(text.trim());
}

/**
 * The embedder with a cache for single texts: a save embeds its content to find similar memories, and the embedding job
 * embeds the same content again a moment later.
 */
export function cachedEmbedder(embedder: Embedder): Embedder {
  const embed = callCache(MAX_CONTENTS, embedOne(embedder));
  return {
    ...embedder,
    async embed(texts) {
      // Batches and long texts are the parts of long memories, which are embedded only once.
      if (texts.length > 1 || texts[0]!.length > MAX_CACHED_CHARACTERS) return embedder.embed(texts);
      return [await embed(texts[0]!)];
    },
  };
}
