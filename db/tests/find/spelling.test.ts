// Which slips memory_find corrects, measured on a list of them, and that it corrects no word that is right.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const { slips, right }: { slips: [slip: string, meant: string][]; right: string[] } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'slips.json'), 'utf8'),
);

describe('the spelling that memory_find suggests', () => {
  const db = useTestDatabase();
  const known = [...new Set(slips.map(([, meant]) => meant))];

  const corrections = async (words: string[]): Promise<(string | null)[]> => {
    const [{ found }] = await db.sql(
      'C',
      'select array(select find.correction_of(w.word, $2) from unnest($1::text[]) with ordinality as w (word, place) order by w.place) as found',
      [words, known],
    );
    return found;
  };
  const suggested = async (query: string) => {
    const [{ suggestions }] = await db.sql(
      'C',
      "select to_jsonb(r.suggestions) as suggestions from public.memory_find($1, mode => 'fast') r",
      [query],
    );
    return (suggestions as { reason: string; value: string }[]).filter(({ reason }) => reason === 'spelling');
  };

  it('is the word that was meant, for nine of ten slips', async () => {
    expect(slips).toHaveLength(200);
    const found = await corrections(slips.map(([slip]) => slip));
    const missed = slips.filter(([, meant], index) => found[index] !== meant).map((slip) => slip.join(' for '));
    expect(missed.length, missed.join(', ')).toBeLessThanOrEqual(20);
  });

  it('is not suggested for words that are right, even if no memory has them', async () => {
    expect(right.length).toBeGreaterThan(100);
    const found = await corrections(right);
    expect(right.flatMap((word, index) => (found[index] ? [`${word}: ${found[index]}`] : []))).toStrictEqual([]);
  });

  it('is found among tags and the words of texts', async () => {
    await saveMemory(db, 'C', { content: 'After the crash we restart the broker.', tags: ['queue'] });
    await saveMemory(db, 'C', { content: 'The queue of the Zürich office is long.' });
    expect(await suggested('crahs')).toMatchObject([{ value: 'crash' }]);
    expect(await suggested('restrat')).toMatchObject([{ value: 'restart' }]);
    expect(await suggested('qeue')).toMatchObject([{ value: 'queue' }]);
    expect(await suggested('Zürcih')).toMatchObject([{ value: 'zürich' }]);
    expect(await suggested('brokre crahs')).toMatchObject([{ value: 'broker crash' }]);
    for (const query of ['crash', 'restarting', 'queues', 'Zurich', 'crust', 'the'])
      expect(await suggested(query), query).toStrictEqual([]);
  });
});
