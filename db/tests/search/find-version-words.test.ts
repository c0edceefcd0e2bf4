import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['apple', 'candle', 'drum', 'eagle'], 0.3);

describe('a search as of a time', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));

  const embed = () => embedPending(db, model);
  const now = async () => (await db.asSuperuser('select clock_timestamp() as now'))[0].now.toISOString() as string;
  const search = (caller: string, { query, ...args }: { query?: string; [name: string]: unknown }) =>
    searchMemory(db, caller, {
      ...(query !== undefined && { query, query_vector: model.vectorOf(query), model: model.name }),
      ...args,
    });
  const found = async (caller: string, args: { query?: string; [name: string]: unknown }) =>
    (await search(caller, args)).hits.map(({ packet_id }) => packet_id);

  it('finds and shows the text that a memory had then', async () => {
    const id = await saveMemory(db, 'C', { content: 'The drum is red.', tags: ['old'] });
    await embed();
    const before = await now();
    await db.sql('C', "select public.update_memory($1, content => 'The eagle is blue.', tags => '{new}')", [id]);
    await embed();
    const after = await now();

    const { hits, searched } = await search('C', { query: 'drum', as_of: before });
    expect([hits[0]!.content, hits[0]!.tags]).toStrictEqual(['The drum is red.', ['old']]);
    expect(searched.notice).toMatch(/as of that time/i);
    expect(await found('C', { query: 'eagle', mode: 'lexical', as_of: before })).not.toContain(id);
    expect(await found('C', { query: 'eagle', mode: 'semantic', threshold: 0.5, as_of: before })).not.toContain(id);
    expect(await found('C', { tags: ['old'], as_of: before })).toStrictEqual([id]);
    expect(await found('C', { tags: ['new'], as_of: before })).toStrictEqual([]);

    for (const as_of of [after, null]) {
      expect((await search('C', { query: 'eagle', as_of })).hits[0]!.content).toBe('The eagle is blue.');
      expect(await found('C', { query: 'drum', mode: 'lexical', as_of })).not.toContain(id);
    }
  });

  it('judges the relevance of a text by its own words, not by those that replaced it', async () => {
    const id = await saveMemory(db, 'C', { content: 'The umbrella is torn.' });
    const before = await now();
    await db.sql('C', "select public.update_memory($1, content => 'The bucket is torn.')", [id]);
    const { hits } = await search('C', { query: 'torn umbrella', as_of: before });
    expect(hits[0]!.packet_id).toBe(id);
    expect(hits[0]!.relevance).toBeCloseTo(1, 5);
  });

  it('finds by meaning a memory whose text is the same, though another field changed', async () => {
    const id = await saveMemory(db, 'C', { content: 'A drum and an eagle.', tags: ['first'] });
    await embed();
    const before = await now();
    await db.sql('C', "select public.update_memory($1, tags => '{second}')", [id]);
    const { hits } = await search('C', { query: 'drum eagle', mode: 'semantic', threshold: 0.2, as_of: before });
    expect([hits[0]!.packet_id, hits[0]!.tags]).toStrictEqual([id, ['first']]);
  });

  it('finds no memory that was saved later', async () => {
    await saveMemory(db, 'C', { content: 'An apple a day.' });
    expect(await found('L', { query: 'apple', as_of: '2020-01-01T00:00:00Z' })).toStrictEqual([]);
    const before = await now();
    const later = await saveMemory(db, 'C', { content: 'One more apple.' });
    expect(await found('C', { query: 'apple', as_of: before })).not.toContain(later);
    expect(await found('C', { query: 'apple' })).toContain(later);
  });

  it('shows neither a memory that is private now nor a version that was private then', async () => {
    const hidden = await saveMemory(db, 'C', { content: 'A candle on a drum.' });
    const shown = await saveMemory(db, 'L', { content: 'A candle on an eagle.', scope: 'l-private' });
    await embed();
    const before = await now();
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
    await db.sql('L', "select public.update_memory($1, scope => 'developer')", [shown]);
    await embed();
    for (const mode of ['hybrid', 'lexical', 'semantic']) {
      for (const scopes of [null, ['developer'], ['l-private']]) {
        const ofC = await found('C', { query: 'candle', mode, as_of: before, k: 100, scopes });
        expect(ofC, `${mode} in ${scopes}`).not.toContain(hidden);
        expect(ofC, `${mode} in ${scopes}`).not.toContain(shown);
      }
      const ofL = await found('L', { query: 'candle', mode, as_of: before, k: 100 });
      expect(ofL, `L, ${mode}`).toContain(hidden);
      expect(ofL, `L, ${mode}`).toContain(shown);
    }
    for (const args of [{ since: '2020-01-01T00:00:00Z' }, { kinds: ['note'] }]) {
      const listed = await found('C', { ...args, as_of: before, k: 100 });
      expect(listed, 'a list').not.toContain(hidden);
      expect(listed, 'a list').not.toContain(shown);
    }
  });

  it('refuses a time in the future', async () => {
    const future = search('C', { query: 'x', as_of: '2999-01-01T00:00:00Z' });
    await expect(future).rejects.toMatchObject({ code: 'L9VAL', column: 'as_of' });
  });
});
