// Decides which texts a provider embeds next. Someone waits for the vector of a query, and for that of a save up to a second;
// nobody waits for the backlog.
import { RoundRobinQueue } from '../base/round-robin-queue.ts';
import { inSpan, type SpanOptions } from '../base/tracing.ts';
import { type Embedder, EmbedderUnavailable, EmbeddingRejected, type Urgency } from './embedder.ts';
import type { Capacity } from './provider.ts';

export interface ScheduledEmbedder extends Embedder {
  /** The queries and saves of clients take turns. Without a client they are those of one. */
  embed(texts: readonly string[], urgency?: Urgency, client?: string): Promise<number[][]>;
  /** Rejects what has not started. The provider stays open. */
  stop(): void;
}

export interface Clock {
  /** Milliseconds. */
  now(): number;
  after(ms: number, callback: () => void): void;
}

interface Item {
  text: string;
  since: number;
  resolve: (vector: number[]) => void;
  reject: (error: unknown) => void;
  /** True once another text of the same request has failed, so that nobody needs this one. */
  isAbandoned: () => boolean;
}

/** The capacity of an embedder that belongs to no provider. */
export const DEFAULT_CAPACITY: Capacity = { calls: 8, backlogCalls: 4, textsPerCall: 8, restFactor: 0 };

/** How long a save waits for its vector. */
export const SAVE_TIMEOUT_MS = 1_000;

/** A save no longer waits for the vector of its text, which was not embedded. */
export class SaveTimedOut extends EmbedderUnavailable {}

// As long as a query arrived within this time, the backlog leaves the provider room for the next one.
const QUERIES_EXPECTED_MS = 1_000;

const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => void setTimeout(callback, ms).unref(),
};

/**
 * The embedder with a queue in front of it. Queries go before saves, and saves before the backlog; those of several clients take
 * turns. Calls are short and the backlog uses only some of them at a time, so a query waits for at most one call for the
 * backlog. Queries that wait together share a call. The text of a save that timed out is left to the backlog.
 */
export function scheduled(embedder: Embedder, capacity: Capacity, clock: Clock = systemClock): ScheduledEmbedder {
  const waiting: Record<Urgency, RoundRobinQueue<Item>> = {
    query: new RoundRobinQueue(),
    save: new RoundRobinQueue(),
    backlog: new RoundRobinQueue(),
  };
  let calls = 0;
  let backlogCalls = 0;
  let lastQueryAt = Number.NEGATIVE_INFINITY;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let isTimerSet = false;

  function take(urgency: Urgency): Item[] {
    const items: Item[] = [];
    while (items.length < capacity.textsPerCall && waiting[urgency].size > 0) {
      const item = waiting[urgency].shift()!;
      if (item.isAbandoned()) continue;
      if (urgency === 'save' && clock.now() - item.since >= SAVE_TIMEOUT_MS)
        item.reject(new SaveTimedOut('a save timed out before its text was embedded'));
      else items.push(item);
    }
    return items;
  }

  function startCalls(): void {
    while (calls < capacity.calls) {
      const urgency = nextUrgency();
      if (!urgency) return;
      const items = take(urgency);
      if (items.length > 0) void call(items, urgency);
    }
  }

  function nextUrgency(): Urgency | null {
    if (waiting.query.size > 0) return 'query';
    if (waiting.save.size > 0) return 'save';
    if (waiting.backlog.size === 0 || backlogCalls >= capacity.backlogCalls) return null;
    const rest = restsUntil - clock.now();
    if (rest <= 0) return 'backlog';
    if (!isTimerSet) {
      isTimerSet = true;
      clock.after(rest, () => {
        isTimerSet = false;
        startCalls();
      });
    }
    return null;
  }

  async function call(items: Item[], urgency: Urgency): Promise<void> {
    const startedAt = clock.now();
    calls += 1;
    if (urgency === 'backlog') backlogCalls += 1;
    try {
      await embedItems(items);
    } finally {
      calls -= 1;
      if (urgency === 'backlog') {
        backlogCalls -= 1;
        const now = clock.now();
        if (now - lastQueryAt < QUERIES_EXPECTED_MS) restsUntil = now + capacity.restFactor * (now - startedAt);
      }
      startCalls();
    }
  }

  async function embedItems(items: Item[]): Promise<void> {
    try {
      const vectors = await embedder.embed(items.map(({ text }) => text));
      for (const [index, { resolve }] of items.entries()) resolve(vectors[index]!);
    } catch (error) {
      if (items.length > 1 && error instanceof EmbeddingRejected) {
        // One of the texts was refused. The others must not fail with it, since they belong to other callers.
        for (const item of items) await embedItems([item]);
        return;
      }
      for (const { reject } of items) reject(error);
    }
  }

  async function embedAll(texts: readonly string[], urgency: Urgency, client: string): Promise<number[][]> {
    if (urgency === 'query') lastQueryAt = clock.now();
    let hasFailed = false;
    const vectors = texts.map(
      (text) =>
        new Promise<number[]>((resolve, reject) => {
          waiting[urgency].push(client, { text, since: clock.now(), resolve, reject, isAbandoned: () => hasFailed });
        }),
    );
    startCalls();
    try {
      return await Promise.all(vectors);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }

  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    ...(embedder.knows && { knows: embedder.knows }),
    chunk: embedder.chunk,
    close: embedder.close,

    embed: (texts, urgency = 'backlog', client = '') =>
      inSpan(spanOf(embedder.model, texts.length, urgency), () => embedAll(texts, urgency, client)),

    stop() {
      const error = new EmbedderUnavailable('the embedder is closed');
      for (const queue of Object.values(waiting)) for (const { reject } of queue.drain()) reject(error);
    },
  };
}

/** The wait for a turn is part of the span. */
const spanOf = (model: string, texts: number, urgency: Urgency): SpanOptions => ({
  name: 'embed',
  kind: 'client',
  attributes: {
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.request.model': model,
    'l9.texts': texts,
    'l9.urgency': urgency,
  },
});
