import { eventually } from '../../../db/tests/support/eventually.ts';
import { cachedEmbedder } from '../../src/embeddings/cache.ts';
import { type Embedder, EmbedderUnavailable } from '../../src/embeddings/index.ts';
import { DEFAULT_CAPACITY, scheduled } from '../../src/embeddings/scheduler.ts';

describe('an embedder with a cache', () => {
  const asked: string[][] = [];
  let isDown = false;
  const embedder: Embedder = {
    model: 'm',
    dimensions: 1,
    chunk: async () => [],
    close: async () => {},
    embed: async (texts) => {
      asked.push([...texts]);
      if (isDown) throw new EmbedderUnavailable('down');
      return texts.map((text) => [text.length]);
    },
  };
  const remembering = cachedEmbedder(scheduled(embedder, DEFAULT_CAPACITY));

  it('embeds a repeated text once, also while the first call is pending', async () => {
    const both = await Promise.all([remembering.embed(['abc']), remembering.embed(['abc'])]);
    expect([...both, await remembering.embed(['abc'])]).toStrictEqual([[[3]], [[3]], [[3]]]);
    expect(asked.splice(0)).toStrictEqual([['abc']]);
  });

  it('does not cache batches and long texts', async () => {
    expect(await remembering.embed(['abc', 'de'])).toStrictEqual([[3], [2]]);
    const long = 'x'.repeat(20_000);
    for (let i = 0; i < 2; i++) expect(await remembering.embed([long])).toStrictEqual([[20_000]]);
    expect(asked.splice(0)).toHaveLength(3);
  });

  it('does not cache a failure', async () => {
    isDown = true;
    await expect(remembering.embed(['fails'])).rejects.toThrow(EmbedderUnavailable);
    isDown = false;
    expect(await remembering.embed(['fails'])).toStrictEqual([[5]]);
  });

  it('embeds a text for the job after the save that shared the call timed out', async () => {
    let answer = () => {};
    const texts: string[] = [];
    let now = 0;
    const clock = { now: () => now, after: () => {} };
    const slow: Embedder = {
      ...embedder,
      embed: ([text]) =>
        new Promise((resolve) => {
          texts.push(text!);
          answer = () => resolve([[text!.length]]);
        }),
    };
    const one = { calls: 1, backlogCalls: 1, textsPerCall: 1, restFactor: 0 };
    const cached = cachedEmbedder(scheduled(slow, one, clock));
    const busy = cached.embed(['busy'], 'save');
    const save = cached.embed(['text'], 'save');
    const job = cached.embed(['text']);
    now = 1_000;
    answer();
    await expect(save).rejects.toThrow(EmbedderUnavailable);
    await eventually(() => texts.length === 2);
    answer();
    expect([await busy, await job]).toStrictEqual([[[4]], [[4]]]);
    expect(texts).toStrictEqual(['busy', 'text']);
  });
});
