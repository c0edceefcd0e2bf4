// Over MCP an agent saves a memory for each number that a hidden memory may hold, and searches for each.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { cheapEmbedder } from './attacker.ts';

const DECOY = 'zxq81k';

describe('a number in a memory that is hidden from C', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
  });
  afterAll(() => gateway.close());

  it('cannot be told from a hundred others by scores, order or counts', async () => {
    const guesses = Array.from({ length: 100 }, (_, n) => String(1009 + 83 * n));
    for (const n of [1, 2, 3])
      await gateway.save('L', `Source ${n} says that the PIN of the safe is ${guesses[71]}.`, { scope: 'l-private' });
    await gateway.save('C', `pad ${DECOY} pad`);
    for (const guess of guesses) await gateway.save('C', `pad ${guess} pad`);

    const answers = new Map<string, string[]>();
    for (const guess of guesses) {
      const { hits, searched } = await gateway.call('C', 'search_memory', {
        query: `${guess} ${DECOY}`,
        mode: 'lexical',
      });
      const seen = hits.map(({ snippet, content, lexical_score }: Record<string, unknown>) => [
        snippet,
        content,
        lexical_score,
      ]);
      // Equal scores are ordered by what is newer and by use, so the two hits are compared in the order of their texts.
      const answer = JSON.stringify([seen.sort(), searched]).replaceAll(guess, '<guess>');
      answers.set(answer, [...(answers.get(answer) ?? []), guess]);
    }
    // All guesses look the same, so the best one is right once in a hundred times.
    expect([...answers.values()]).toStrictEqual([guesses]);
    expect([...answers.keys()][0]).toMatch(/<guess>.*zxq81k/);
  });
});
