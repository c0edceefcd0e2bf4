// An agent that may write and search tries to find out which words stand in memories that it can't read.
import { saveMemory, searchMemory } from '../../support/memories.ts';
import { useTestDatabase } from '../../support/test-database.ts';
import { CANARY, DECOY, plateaus } from './texts.ts';
import { freezeTimes, PROJECT, saveAll } from './world.ts';

const own = { name: 'own', caller: 'C', claims: {}, scope: 'developer', projectId: PROJECT };
const secret = { name: 'secret', caller: 'L', claims: {}, scope: 'l-private', projectId: PROJECT };

describe.each([
  ['among few readable memories', 0],
  ['among many readable memories', 2_100],
])('an attacker %s', (_, fillers) => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await saveAll(
      db,
      own,
      plateaus(fillers).map(({ content }) => ({ content: content.replace(/merger|zxq81k/g, 'filler') })),
    );
    await saveMemory(db, 'C', { content: `pad ${CANARY} pad`, project_id: PROJECT });
    await saveMemory(db, 'C', { content: `pad ${DECOY} pad`, project_id: PROJECT });
  });

  const search = (query: string) => searchMemory(db, 'C', { query, mode: 'lexical', explain: true });
  type Hits = Awaited<ReturnType<typeof search>>['hits'];
  /** The score of the memory with the first word, over that of the memory with the second. */
  const quotient = (hits: Hits, one: string, other: string) => {
    const of = (word: string) => hits.find(({ content }) => content.includes(word))!.lexical_score!;
    return of(one) / of(other);
  };

  it('gets the same scores for two words, however many hidden memories have one of them', async () => {
    const quotients: number[] = [];
    for (const count of [0, 1, 3, 10]) {
      await saveAll(
        db,
        secret,
        Array.from({ length: count }, (_, n) => ({ content: `the ${CANARY} is on, says source ${count * 100 + n}` })),
      );
      quotients.push(quotient((await search(`${CANARY} ${DECOY}`)).hits, CANARY, DECOY));
    }
    expect(quotients).toStrictEqual([1, 1, 1, 1]);
  });

  it('gets the same answer for each of a hundred guesses of a number in a hidden memory', async () => {
    const guesses = Array.from({ length: 100 }, (_, n) => String(1009 + 83 * n));
    const pin = guesses[71]!;
    await saveMemory(db, 'L', { content: `The PIN of the safe is ${pin}.`, scope: 'l-private', project_id: PROJECT });
    // One memory for each guess, all alike.
    await db.sql(
      'C',
      "select count(public.save_memory('pad ' || guess || ' pad', project_id => $2)) from unnest($1::text[]) as guess",
      [guesses, PROJECT],
    );
    await freezeTimes(db);
    const answers = new Map<string, string[]>();
    const quotients = new Set<number>();
    for (const guess of guesses) {
      const { hits, searched } = await search(`${guess} ${DECOY}`);
      const answer = JSON.stringify([hits, searched])
        .replaceAll(guess, '<guess>')
        .replaceAll(/"(packet_id|access_id|timestamp|created_at|updated_at)":"[^"]*"/g, '"$1":null');
      answers.set(answer, [...(answers.get(answer) ?? []), guess]);
      quotients.add(quotient(hits, guess, DECOY));
    }
    // All guesses look the same, so the best one is right once in a hundred times.
    expect([...answers.values()]).toStrictEqual([guesses]);
    expect([...quotients]).toStrictEqual([1]);
  });
});
