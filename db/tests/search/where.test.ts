// search_memory with conditions on fields of the envelope.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['ticket'], 0.3);

describe('where', () => {
  const db = useTestDatabase();
  const names = new Map<string, string>();
  beforeAll(async () => {
    await serveModel(db, model);
    const save = async (caller: string, name: string, envelope: object, args: object = {}) =>
      names.set(await saveMemory(db, caller, { content: `ticket ${name}`, envelope, ...args }), name);
    await save('C', 'one', { status: 'open', priority: 1, due: '2026-11-30', labels: ['ui', 'slow'] });
    await save('C', 'two', { status: 'open', priority: 2.5, due: '2026-12-01T08:00:00+02:00', owner: { name: 'Ann' } });
    await save('C', 'three', { status: 'closed', priority: 10, due: ['someday', '2027-01-01'], 'it\'s "odd"': true });
    await save('C', 'four', { status: ['open', 'blocked'], priority: '2', due: 'tomorrow', owner: null });
    await save('C', 'plain', {});
    await save('L', 'hidden', { status: 'open', priority: 2, secret: 'x' }, { scope: 'l-private' });
    await embedPending(db, model);
  });

  const search = async (caller: string, where: unknown, args: object = {}) => {
    const { hits, searched } = await searchMemory(db, caller, { where: JSON.stringify(where), k: 100, ...args });
    return { found: hits.map(({ packet_id }) => names.get(packet_id)!).sort(), searched, hits };
  };
  const found = async (where: unknown, args: object = {}) => (await search('C', where, args)).found;

  it.each<[string, object, string[]]>([
    ['a text', { status: 'open' }, ['four', 'one', 'two']],
    ['a number', { priority: 2.5 }, ['two']],
    ['a number, which is no text', { priority: 2 }, []],
    ['a text, which is no number', { priority: '2' }, ['four']],
    ['true, in a field with an odd name', { 'it\'s "odd"': true }, ['three']],
    ['one of several', { status: ['closed', 'blocked'] }, ['four', 'three']],
    ['one of several, in the long form', { status: { in: ['closed'] }, priority: { eq: 10 } }, ['three']],
    ['an element of a list', { labels: 'slow' }, ['one']],
    ['an inner field', { 'owner.name': 'Ann' }, ['two']],
    ['a field that exists', { owner: { exists: true } }, ['four', 'two']],
    ['a field that is missing', { labels: { exists: false }, status: 'open' }, ['four', 'two']],
    ['a range of numbers', { priority: { gt: 1, lte: 2.5 } }, ['two']],
    ['a bound of a number', { priority: { gte: 2.5 } }, ['three', 'two']],
    ['a range of days', { due: { gte: '2026-11-30', lt: '2026-12-01' } }, ['one']],
    [
      'a range of times, with their offsets',
      { due: { gt: '2026-12-01T05:59:59Z', lte: '2026-12-01T07:00:00+01:00' } },
      ['two'],
    ],
    ['a time in a list', { due: { gt: '2026-12-31' } }, ['three']],
    ['a range that ends before it begins', { due: { gt: '2027-12-31', lt: '2026-01-01' } }, []],
  ])('finds by %s', async (_, where, expected) => {
    expect(await found(where)).toStrictEqual(expected);
    for (const mode of ['lexical', 'semantic', 'hybrid']) {
      const query = { query: 'ticket', query_vector: model.vectorOf('ticket'), model: model.name, mode };
      expect(await found(where, query), mode).toStrictEqual(expected);
    }
  });

  it('narrows together with the other filters, and says what was searched', async () => {
    const { found, searched } = await search(
      'C',
      { status: 'open' },
      { since: '2020-01-01T00:00:00Z', project_id: 'l9' },
    );
    expect(found).toStrictEqual(['four', 'one', 'two']);
    expect(searched.filters.where).toStrictEqual({ status: 'open' });
    expect((await search('C', {}, { query: 'ticket', mode: 'lexical' })).found).toHaveLength(5);
  });

  it.each<[string, unknown]>([
    ['must be an object', ['open']],
    ['eq takes', { status: null }],
    ['the operators are', { status: { like: 'o%' } }],
    ['say what', { status: {} }],
    ['in takes', { status: { in: [] } }],
    ['in takes', { status: [['open']] }],
    ['exists takes', { status: { exists: 'yes' } }],
    ['gte takes', { due: { gte: 'tomorrow' } }],
    ['gt takes', { due: { gt: '2026-02-30' } }],
    ['the name of a field', { '': 1 }],
    ['the name of a field', { 'a..b': 1 }],
    ['the name of a field', { ['x'.repeat(201)]: 1 }],
    ['content is', { content: 'x' }],
  ])('refuses what it does not take: %s', async (message, where) => {
    await expect(search('C', where)).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'where',
      message: expect.stringMatching(`^where: ${message}`),
    });
  });

  it('refuses more than ten fields', async () => {
    const where = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`f${n}`, n]));
    await expect(search('C', where)).rejects.toMatchObject({ code: 'L9LIM', column: 'where' });
  });

  it('finds nothing hidden by its fields, and takes values for nothing but values', async () => {
    expect(await found({ secret: { exists: true } })).toStrictEqual([]);
    expect((await search('L', { secret: 'x' })).found).toStrictEqual(['hidden']);
    expect(await found({ status: "x' or true --" })).toStrictEqual([]);
    expect(await found({ status: '") || (1 == 1' })).toStrictEqual([]);
    expect(await found({ 'a"?(1==1)': 1 })).toStrictEqual([]);
  });

  it('finds versions of a time by the fields they had', async () => {
    const id = await saveMemory(db, 'C', { content: 'ticket five', envelope: '{"status": "new"}' });
    names.set(id, 'five');
    const [{ now }] = await db.sql('C', 'select clock_timestamp()::text as now');
    await db.sql('C', 'select public.update_memory($1, envelope => $2)', [id, '{"status": "done"}']);
    expect(await found({ status: 'new' })).toStrictEqual([]);
    expect(await found({ status: 'done' })).toStrictEqual(['five']);
    expect(await found({ status: 'new' }, { as_of: now })).toStrictEqual(['five']);
    expect(await found({ status: 'done' }, { as_of: now })).toStrictEqual([]);
    await db.sql('C', 'select public.delete_memory($1)', [id]);
  });

  it('audits the names of the fields, and not what they were compared with', async () => {
    await search('C', { 'owner.name': 'Annabel' });
    const [{ filters }] = await db.asSuperuser(
      "select details -> 'filters' as filters from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1",
    );
    expect(filters).toStrictEqual({ where: ['owner.name'] });
  });

  it('looks at the newest memories where too many are readable, and says so', async () => {
    const limits = (scanned: number, scored: number) =>
      db.asSuperuser(`create or replace function search.max_scanned_rows() returns integer language sql immutable parallel safe return ${scanned};
        create or replace function search.max_scored_rows() returns integer language sql immutable parallel safe return ${scored};`);
    await limits(4, 1);
    try {
      const rare = await search('C', { labels: 'slow' });
      expect(rare.found).toStrictEqual([]);
      expect(rare.searched.notice).toMatch(/where: only the newest 4 memories were looked at/);
      const { found: best, searched } = await search('C', { priority: { gt: 9 } }, { k: 1 });
      expect([best, searched.notice], 'what was found is the newest').toStrictEqual([['three'], null]);
      const words = { query: 'ticket', mode: 'lexical', k: 1 };
      expect((await search('C', { status: 'closed' }, words)).searched.notice).toMatch(/only the newest 4/);
      // Where many match, the ranked indexes are scanned, and their rows filtered.
      for (const mode of ['lexical', 'semantic', 'hybrid']) {
        const query = { query: 'ticket', query_vector: model.vectorOf('ticket'), model: model.name, mode };
        expect(await found({ due: { gt: '2026-01-01' }, status: { exists: true } }, query), mode).toStrictEqual([
          'one',
          'three',
          'two',
        ]);
      }
    } finally {
      await limits(20000, 2000);
    }
  });
});
