// Tags in searches are compared as they are stored, in any case of letters.
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a search for tags', () => {
  const db = useTestDatabase();
  const contents = async (args: object) =>
    (await searchMemory(db, 'C', args)).hits.map(({ content }) => content).toSorted();

  beforeAll(async () => {
    await saveMemory(db, 'C', { content: 'The oven is hot.', tags: ['  Ofen ', 'Jürgen', 'HEAT'] });
    await saveMemory(db, 'C', { content: 'The oven is cold.', tags: ['ofen', 'cold\u00a0'] });
  });

  it('finds them in any case, with white space around them, and in NFC and NFD', async () => {
    const [hot, cold] = ['The oven is hot.', 'The oven is cold.'];
    for (const [tags, found] of [
      [['OFEN'], [cold, hot]],
      [[' ofen\t'], [cold, hot]],
      [['jürgen'.normalize('NFD')], [hot]],
      [['JÜRGEN'], [hot]],
      [['Cold'], [cold]],
      [['hea'], []],
    ] as const)
      for (const query of [undefined, 'oven'])
        expect(await contents({ tags, mode: 'lexical', ...(query && { query }) }), tags[0]).toStrictEqual([...found]);
    expect(await contents({ tags: ['heat', 'OFEN'], tags_match: 'all' })).toStrictEqual([hot]);
  });

  it('keeps them as they were written, in NFC and without white space around them', async () => {
    const { hits } = await searchMemory(db, 'C', { tags: ['heat'] });
    expect(hits[0]!.tags).toStrictEqual(['Ofen', 'Jürgen', 'HEAT']);
  });
});
