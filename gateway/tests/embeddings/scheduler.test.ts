// The order in which texts reach a provider. The provider answers when the test says so, and the clock stands still.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EmbedderUnavailable, EmbeddingRejected } from '../../src/embeddings/index.ts';
import type { Capacity } from '../../src/embeddings/provider.ts';
import { type Clock, SAVE_TIMEOUT_MS, scheduled } from '../../src/embeddings/scheduler.ts';

const ONE_AT_A_TIME: Capacity = { calls: 1, backlogCalls: 1, textsPerCall: 1, restFactor: 0 };

interface Call {
  texts: string[];
  answer(error?: Error): Promise<void>;
}

function slowProvider(capacity: Capacity) {
  const calls: Call[] = [];
  const timers: { at: number; callback: () => void }[] = [];
  let now = 0;
  const clock: Clock = { now: () => now, after: (ms, callback) => timers.push({ at: now + ms, callback }) };
  const embedder = scheduled(
    {
      model: 'm',
      dimensions: 1,
      chunk: async () => [],
      close: async () => {},
      embed: (texts) =>
        new Promise((resolve, reject) => {
          const answer = async (error?: Error) => {
            if (error) reject(error);
            else resolve(texts.map((text) => [text.length]));
            await nextTurn();
          };
          calls.push({ texts: [...texts], answer });
        }),
    },
    capacity,
    clock,
  );
  return {
    embedder,
    /** The texts of all calls so far. */
    asked: () => calls.map(({ texts }) => texts.join()),
    /** Answers a call, the n-th of all. */
    answer: (n: number, error?: Error) => calls[n]!.answer(error),
    async passes(ms: number) {
      now += ms;
      for (const timer of timers.filter(({ at }) => at <= now)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.callback();
      }
      await nextTurn();
    },
  };
}

describe('a scheduled embedder', () => {
  it('embeds queries first, then saves, then the backlog, each in the order of arrival', async () => {
    const { embedder, asked, answer } = slowProvider(ONE_AT_A_TIME);
    const all = [
      embedder.embed(['backlog 1', 'backlog 2']),
      embedder.embed(['backlog 3']),
      embedder.embed(['save'], 'save'),
      embedder.embed(['query 1'], 'query'),
      embedder.embed(['query 2'], 'query'),
    ];
    for (let n = 0; n < 6; n++) await answer(n);
    expect(asked()).toStrictEqual(['backlog 1', 'query 1', 'query 2', 'save', 'backlog 2', 'backlog 3']);
    expect(await Promise.all(all)).toStrictEqual([[[9], [9]], [[9]], [[4]], [[7]], [[7]]]);
  });

  it('embeds the queries and saves of several clients in turns', async () => {
    const { embedder, asked, answer } = slowProvider(ONE_AT_A_TIME);
    const all = [
      ...[1, 2, 3].map((n) => embedder.embed([`query ${n} of one`], 'query', 'one')),
      embedder.embed(['query of another'], 'query', 'another'),
      ...[1, 2].map((n) => embedder.embed([`save ${n} of one`], 'save', 'one')),
      embedder.embed(['save of another'], 'save', 'another'),
    ];
    for (let n = 0; n < all.length; n++) await answer(n);
    expect(asked()).toStrictEqual([
      'query 1 of one',
      'query 2 of one',
      'query of another',
      'query 3 of one',
      'save 1 of one',
      'save of another',
      'save 2 of one',
    ]);
    await Promise.all(all);
  });

  it('skips the texts of saves that timed out, so that the next save is in time', async () => {
    const { embedder, asked, answer, passes } = slowProvider(ONE_AT_A_TIME);
    const first = embedder.embed(['at once'], 'save');
    const late = Promise.allSettled([1, 2, 3].map((n) => embedder.embed([`late ${n}`], 'save')));
    await passes(SAVE_TIMEOUT_MS);
    const next = embedder.embed(['next'], 'save');
    await answer(0);
    expect(asked()).toStrictEqual(['at once', 'next']);
    await answer(1);
    expect(await Promise.all([first, next])).toStrictEqual([[[7]], [[4]]]);
    for (const { status } of await late) expect(status).toBe('rejected');
  });

  it('lets a query that arrives during a long batch wait for the current text alone', async () => {
    const { embedder, asked, answer } = slowProvider(ONE_AT_A_TIME);
    const batch = embedder.embed(Array.from({ length: 64 }, (_, n) => `part ${n}`));
    await answer(0);
    await answer(1);
    const query = embedder.embed(['query'], 'query');
    await answer(2);
    expect(asked()).toStrictEqual(['part 0', 'part 1', 'part 2', 'query']);
    await answer(3);
    expect(await query).toStrictEqual([[5]]);
    for (let n = 4; n < 65; n++) await answer(n);
    expect(await batch).toHaveLength(64);
  });

  it('keeps calls free for queries, however long the backlog is', async () => {
    const { embedder, asked } = slowProvider({ calls: 3, backlogCalls: 2, textsPerCall: 2, restFactor: 0 });
    for (let n = 0; n < 5; n++) void embedder.embed([`backlog ${n}a`, `backlog ${n}b`]);
    expect(asked()).toStrictEqual(['backlog 0a,backlog 0b', 'backlog 1a,backlog 1b']);
    void embedder.embed(['query'], 'query');
    expect(asked().at(-1)).toBe('query');
  });

  it('embeds queries that wait together in one call', async () => {
    const { embedder, asked, answer } = slowProvider({ calls: 1, backlogCalls: 1, textsPerCall: 3, restFactor: 0 });
    const queries = ['a', 'bb', 'ccc', 'dddd', 'eeeee'].map((text) => embedder.embed([text], 'query'));
    for (let n = 0; n < 3; n++) await answer(n);
    expect(asked()).toStrictEqual(['a', 'bb,ccc,dddd', 'eeeee']);
    expect(await Promise.all(queries)).toStrictEqual([[[1]], [[2]], [[3]], [[4]], [[5]]]);
  });

  it('rejects only the query that was refused, not those that shared its call', async () => {
    const { embedder, answer } = slowProvider({ calls: 1, backlogCalls: 1, textsPerCall: 3, restFactor: 0 });
    void embedder.embed(['first'], 'query');
    const good = embedder.embed(['good'], 'query');
    const bad = expect(embedder.embed(['bad'], 'query')).rejects.toThrow(EmbeddingRejected);
    await answer(0);
    await answer(1, new EmbeddingRejected('refused'));
    await answer(2);
    await answer(3, new EmbeddingRejected('refused'));
    expect(await good).toStrictEqual([[4]]);
    await bad;
  });

  it('gives up the rest of a request whose first text failed', async () => {
    const { embedder, asked, answer } = slowProvider(ONE_AT_A_TIME);
    const failing = expect(embedder.embed(['one', 'two', 'three'])).rejects.toThrow(EmbedderUnavailable);
    const later = embedder.embed(['later']);
    await answer(0, new EmbedderUnavailable('down'));
    await failing;
    for (let n = 1; n < asked().length; n++) await answer(n);
    expect(await later).toStrictEqual([[5]]);
    expect(asked()).not.toContain('three');
  });

  it('lets the backlog rest while queries arrive, and work without a rest once none do', async () => {
    const { embedder, asked, answer, passes } = slowProvider({ ...ONE_AT_A_TIME, restFactor: 4 });
    void embedder.embed(['one', 'two', 'three', 'four']);
    void embedder.embed(['query'], 'query');
    await passes(100);
    await answer(0);
    await answer(1);
    expect(asked()).toStrictEqual(['one', 'query']);
    await passes(399);
    expect(asked()).toStrictEqual(['one', 'query']);
    await passes(1);
    expect(asked()).toStrictEqual(['one', 'query', 'two']);
    await passes(2_000);
    await answer(2);
    expect(asked().at(-1)).toBe('three');
    await answer(3);
    expect(asked().at(-1)).toBe('four');
  });

  it('embeds a query at once while the backlog rests', async () => {
    const { embedder, asked, answer, passes } = slowProvider({ ...ONE_AT_A_TIME, restFactor: 4 });
    void embedder.embed(['one', 'two']);
    void embedder.embed(['query 1'], 'query');
    await passes(100);
    await answer(0);
    await answer(1);
    void embedder.embed(['query 2'], 'query');
    expect(asked()).toStrictEqual(['one', 'query 1', 'query 2']);
  });

  it('rejects what has not started when it is stopped', async () => {
    const { embedder, asked } = slowProvider(ONE_AT_A_TIME);
    void embedder.embed(['one']);
    const waiting = expect(embedder.embed(['two'])).rejects.toThrow(EmbedderUnavailable);
    embedder.stop();
    await waiting;
    expect(asked()).toStrictEqual(['one']);
  });
});
