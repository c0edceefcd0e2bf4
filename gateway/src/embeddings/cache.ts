// Two caches of vectors: one for queries, which repeat, and one for contents, which are embedded twice in a row.
import { LRUCache } from 'lru-cache';
import type { Urgency } from './embedder.ts';
import { SaveTimedOut, type ScheduledEmbedder } from './scheduler.ts';

const MAX_QUERIES = 2_000;
const MAX_CONTENTS = 256;
const MAX_CACHED_CHARACTERS = 16_384;

/** Calls `embed` once for each text. Calls under way are shared, and failed calls are not kept. */
function callCache<Rest extends unknown[]>(max: number, embed: (text: string, ...rest: Rest) => Promise<number[]>) {
  const calls = new LRUCache<string, Promise<number[]>>({ max });
  return (text: string, ...rest: Rest): Promise<number[]> => {
    const cached = calls.get(text);
    if (cached) return cached;
    const call = embed(text, ...rest);
    calls.set(text, call);
    call.catch(() => {
      if (calls.peek(text) === call) calls.delete(text);
    });
    return call;
  };
}

/** Embeds queries through a cache, since the same queries are asked again and again. */
export function cachedQueryEmbedder(
  embedder: Pick<ScheduledEmbedder, 'embed'>,
  { max = MAX_QUERIES }: { max?: number } = {},
): (text: string, client?: string) => Promise<number[]> {
  const embed = callCache(max, async (text, client?: string) => (await embedder.embed([text], 'query', client))[0]!);
  return (text, client) => embed(text.trim(), client);
}

/**
 * The embedder with a cache for single texts: a save embeds its content to find similar memories, and the embedding job
 * embeds the same content again a moment later.
 */
export function cachedEmbedder(embedder: ScheduledEmbedder): ScheduledEmbedder {
  const embed = callCache(
    MAX_CONTENTS,
    async (text, urgency?: Urgency, client?: string) => (await embedder.embed([text], urgency, client))[0]!,
  );
  return {
    ...embedder,
    async embed(texts, urgency, client) {
      // Batches and long texts are the parts of long memories, which are embedded only once.
      if (texts.length > 1 || texts[0]!.length > MAX_CACHED_CHARACTERS) return embedder.embed(texts, urgency, client);
      const ask = () => embed(texts[0]!, urgency, client);
      const vector = await ask().catch((error) => {
        // The job shared the call of a save that timed out. The job waits as long as it takes.
        if (error instanceof SaveTimedOut && urgency !== 'save') return ask();
        throw error;
      });
      return [vector];
    },
  };
}
