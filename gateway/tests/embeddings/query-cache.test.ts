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
    expect(await embed('who decides')).toStrictEqual([11]);
    expect(await embed('  who decides\n')).toStrictEqual([11]);
    expect(await embed('Who decides')).toStrictEqual([11]);
    expect(provider.asked).toStrictEqual(['who decides', 'Who decides']);
  });

  it('shares one call among equal queries at the same time', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider);
    await Promise.all(Array.from({ length: 10 }, () => embed('same')));
    expect(provider.asked).toStrictEqual(['same']);
  });

  it('does not remember a failure', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider);
    provider.state.down = true;
    const both = [embed('a query'), embed('a query')];
    await Promise.all(both.map((call) => expect(call).rejects.toThrow(EmbedderUnavailable)));
    provider.state.down = false;
    expect(await embed('a query')).toStrictEqual([7]);
    expect(provider.asked).toHaveLength(2);
  });

  it('forgets the least recently used', async () => {
    const provider = counting();
    const embed = cachedQueryEmbedder(provider, { max: 2 });
    for (const query of ['a', 'b', 'a', 'c', 'a', 'b']) await embed(query);
    expect(provider.asked).toStrictEqual(['a', 'b', 'c', 'b']);
  });
});
