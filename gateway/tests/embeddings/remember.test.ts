import { cachedEmbedder } from '../../src/embeddings/cache.ts';
import { type Embedder, EmbedderUnavailable } from '../../src/embeddings/index.ts';

describe('an embedder that remembers', () => {
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
  const remembering = cachedEmbedder(embedder);

  it('asks once for a text that comes again, also while the first is under way', async () => {
    const both = await Promise.all([remembering.embed(['abc']), remembering.embed(['abc'])]);
    expect([...both, await remembering.embed(['abc'])]).toStrictEqual([[[3]], [[3]], [[3]]]);
    expect(asked.splice(0)).toStrictEqual([['abc']]);
  });

  it('passes on several at once, and what is long', async () => {
    expect(await remembering.embed(['abc', 'de'])).toStrictEqual([[3], [2]]);
    const long = 'x'.repeat(20_000);
    for (let i = 0; i < 2; i++) expect(await remembering.embed([long])).toStrictEqual([[20_000]]);
    expect(asked.splice(0)).toHaveLength(3);
  });

  it('does not remember a failure', async () => {
    isDown = true;
    await expect(remembering.embed(['fails'])).rejects.toThrow(EmbedderUnavailable);
    isDown = false;
    expect(await remembering.embed(['fails'])).toStrictEqual([[5]]);
  });
});
