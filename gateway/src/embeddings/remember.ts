import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder.ts';

const TEXTS = 256;
const LONGEST = 16_384;

/**
 * A content is embedded when it is compared with others, and a moment later to be stored: the second time the vector
 * of the first is taken, also while that is still under way.
 */
export function rememberingEmbedder(embedder: Embedder): Embedder {
  const known = new LRUCache<string, Promise<number[]>>({ max: TEXTS });
  return {
    ...embedder,
    async embed(texts) {
      // Only single texts come twice, not the many of a long memory or the long ones themselves.
      if (texts.length > 1 || texts[0]!.length > LONGEST) return embedder.embed(texts);
      const [text] = texts as [string];
      const call = known.get(text) ?? embedder.embed(texts).then(([vector]) => vector!);
      known.set(text, call);
      call.catch(() => known.peek(text) === call && known.delete(text));
      return [await call];
    },
  };
}
