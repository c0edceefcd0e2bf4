import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder.ts';

/** The same things are asked again and again. The call itself is kept, so that equal queries share one. */
export function cachedQueryEmbedder(
  embedder: Pick<Embedder, 'embed'>,
  { max = 2000 }: { max?: number } = {},
): (text: string) => Promise<number[]> {
  const calls = new LRUCache<string, Promise<number[]>>({ max });
  return (text) => {
    const query = text.trim();
    const known = calls.get(query);
    if (known) return known;
    const call = embedder.embed([query]).then(([vector]) => vector!);
    calls.set(query, call);
    call.catch(() => {
      if (calls.peek(query) === call) calls.delete(query);
    });
    return call;
  };
}
