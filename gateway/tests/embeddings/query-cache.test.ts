import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cachedQueryEmbedder } from '../../src/embeddings/cache.ts';
import { EmbedderUnavailable } from '../../src/embeddings/embedder.ts';

/** Answers with the length of the text, and remembers what it was asked. */
function counting() {
  const asked: string[] = [];
  const state = { down: false };
  const embed = async (texts: readonly string[]): Promise<number[][]> => {
    asked.push(...texts);
    await nextTurn();
    if (state.down) throw new EmbedderUnavailable('down');
    return texts.map((text) => [text.length]);
  };
  return { asked, state, embed };
}

describe('cachedQueryEmbedder', () => {
  it('asks once for a query, however it is spaced', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider);
    assert.deepEqual(await embed('who decides'), [11]);
    assert.deepEqual(await embed('  who decides\n'), [11]);
    assert.deepEqual(await embed('Who decides'), [11]);
    assert.deepEqual(provider.asked, ['who decides', 'Who decides']);
  });

  it('shares one call among equal queries at the same time', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider);
    await Promise.all(Array.from({ length: 10 }, () => embed('same')));
    assert.deepEqual(provider.asked, ['same']);
  });

  it('does not remember a failure', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider);
    provider.state.down = true;
    const both = [embed('a query'), embed('a query')];
    await Promise.all(both.map((call) => assert.rejects(call, EmbedderUnavailable)));
    provider.state.down = false;
    assert.deepEqual(await embed('a query'), [7]);
    assert.equal(provider.asked.length, 2);
  });

  it('forgets the least recently used', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider, { max: 2 });
    for (const query of ['a', 'b', 'a', 'c', 'a', 'b']) await embed(query);
    assert.deepEqual(provider.asked, ['a', 'b', 'c', 'b']);
  });
});
