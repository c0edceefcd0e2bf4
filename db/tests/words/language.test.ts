import { callSaveMemory, saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the language of a memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  const stored = async (id: string) => {
    const [row] = await db.sql(
      'C',
      'select language, tsvector_to_array(words) as words from public.packet_store where packet_id = $1',
      [id],
    );
    return row as { language: string; words: string[] };
  };
  const setLanguages = (languages: string[]) =>
    db.sql('L', 'select (public.set_search_settings(languages => $1)).languages', [languages]);

  it('is english by default', async () => {
    const id = await saveMemory(db, 'C', { content: 'Die Häuser' });
    expect(await stored(id)).toStrictEqual({ language: 'english', words: ['die', 'haeuser', 'hauser', 'häuser'] });
  });

  it('is the one that the writer gives, and decides the words', async () => {
    const { memory } = await callSaveMemory(db, 'C', { content: 'Die Häuser', language: 'german' });
    expect(memory.language).toBe('german');
    expect(await stored(memory.packet_id)).toStrictEqual({ language: 'german', words: ['haus'] });
    await db.sql('C', "select public.update_memory($1, language => 'none')", [memory.packet_id]);
    expect(await stored(memory.packet_id)).toStrictEqual({
      language: 'none',
      words: ['die', 'haeuser', 'hauser', 'häuser'],
    });
  });

  it.each(['klingon', 'pg_catalog.english', 'German'])('is refused if it is "%s"', async (language) => {
    await expect(callSaveMemory(db, 'C', { content: 'x', language })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'language',
    });
    await expect(db.sql('C', "select public.search_memory('x', language => $1)", [language])).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'language',
    });
  });

  it('stays in the history when it changes', async () => {
    const id = await saveMemory(db, 'C', { content: 'Die Häuser' });
    await db.sql('C', "select public.update_memory($1, language => 'german')", [id]);
    const versions = await db.sql('C', 'select language from public.packet_versions where packet_id = $1', [id]);
    expect(versions).toStrictEqual([{ language: 'english' }]);
  });

  it.each([
    ['german', 'Wir haben die Schlüssel nicht gefunden, weil sie in der Tasche waren'],
    ['english', 'We have not found the keys because they were in the bag'],
    ['french', "Nous n'avons pas trouvé les clés parce qu'elles étaient dans le sac"],
    ['greek', 'Τα κλειδιά ήταν στην τσάντα'],
    ['english', 'PostgreSQL 18.6'],
    ['english', '数据库'],
  ])('is %s, detected among those of the tenant, for "%s"', async (language, content) => {
    await setLanguages(['english', 'german', 'french', 'greek']);
    expect((await stored(await saveMemory(db, 'C', { content }))).language).toBe(language);
  });

  it('is the only language of a tenant that has one', async () => {
    await setLanguages(['german']);
    expect((await stored(await saveMemory(db, 'C', { content: 'We have the keys' }))).language).toBe('german');
  });

  it.each([
    [[]],
    [['klingon']],
    [['english', null]],
    [['english', 'german', 'french', 'greek', 'danish', 'dutch']],
  ])('cannot be set for a tenant to %j', async (languages) => {
    await expect(setLanguages(languages as string[])).rejects.toMatchObject({ code: 'L9VAL', column: 'languages' });
  });

  it('cannot be set for the tenant by an agent', async () => {
    await expect(db.sql('C', "select public.set_search_settings(languages => '{german}')")).rejects.toMatchObject({
      code: '42501',
    });
  });
});

describe('words.of_query_in', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('has the words of a query in each language once', async () => {
    const [{ words }] = await db.asSuperuser("select words.of_query_in('running Häuser', '{english,german}') as words");
    expect(words).toStrictEqual(['haeuser', 'running', 'haus', 'hauser', 'run', 'häuser']);
  });
});
