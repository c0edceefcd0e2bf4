import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
    assert.deepEqual([...both, await remembering.embed(['abc'])], [[[3]], [[3]], [[3]]]);
    assert.deepEqual(asked.splice(0), [['abc']]);
  });

  it('passes on several at once, and what is long', async () => {
    assert.deepEqual(await remembering.embed(['abc', 'de']), [[3], [2]]);
    const long = 'x'.repeat(20_000);
    for (let i = 0; i < 2; i++) assert.deepEqual(await remembering.embed([long]), [[20_000]]);
    assert.equal(asked.splice(0).length, 3);
  });

  it('does not remember a failure', async () => {
    isDown = true;
    await assert.rejects(remembering.embed(['fails']), EmbedderUnavailable);
    isDown = false;
    assert.deepEqual(await remembering.embed(['fails']), [[5]]);
  });
});
