// A preview of memory_find answers as memory_find does with other weights, and leaves nothing behind but its audit row.
import { saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const OLD = { recency_weight: 0 };
const DEFAULTS = { match_weight: 0.4, recency_weight: 0.3, proximity_weight: 0.2, citation_weight: 0.1 };
const NEW = { match_weight: 0, recency_weight: 1, proximity_weight: 0, citation_weight: 0 };

describe('preview_find', () => {
  const db = useTestDatabase();
  const query = 'zwieback nail';
  const preview = async (weights: unknown, args: object = {}, caller = 'L', claims = {}): Promise<string[]> => {
    const all = { query, weights: JSON.stringify(weights), ...args };
    const text = `select p.envelope ->> 'content' as content from public.preview_find(${named(all)}) p`;
    return (await db.sql(caller, text, Object.values(all), claims)).map(({ content }) => content);
  };
  const settings = () => db.asSuperuser('select to_jsonb(s) as row from public.find_settings s');
  const audited = () =>
    db.asSuperuser(
      "select operation, status, details from public.audit_log where caller = 'L' and operation <> 'INSERT' order by audit_id",
    );
  const leavesNothing = async (work: () => Promise<unknown>) => {
    const left = async () => [
      await settings(),
      await db.asSuperuser('select access_id from importance.memory_access_log'),
      await db.asSuperuser('select to_jsonb(p) as row from public.packet_store p order by p.packet_id'),
    ];
    const before = await left();
    await work();
    expect(await left()).toStrictEqual(before);
  };

  beforeAll(async () => {
    await saveMemory(db, 'L', { content: 'zwieback nail', timestamp: '2020-01-01T00:00:00Z' });
    await saveMemory(db, 'L', { content: 'A nail of sorts, and no zebra at all among the other words here.' });
  });

  it('answers as memory_find does when the weights are set, and sets none', async () => {
    const set = (weights: object) =>
      db.sql('L', `select public.set_find_settings(${named(weights)})`, Object.values(weights));
    const tried: string[][] = [];
    await leavesNothing(async () => {
      for (const weights of [OLD, NEW, { half_life_days: { note: 36500 } }, {}]) tried.push(await preview(weights));
    });
    expect(await settings()).toStrictEqual([]);
    expect(tried[0]![0]).toBe('zwieback nail');
    expect(tried[1]![0]).toMatch(/^A nail/);
    await set(NEW);
    const found = await db.sql(
      'L',
      `select p.envelope ->> 'content' as content from public.memory_find($1) r, unnest(r.hits) with ordinality h
       join public.packet_store p using (packet_id) order by h.ordinality`,
      [query],
    );
    expect(tried[1]).toStrictEqual(found.map(({ content }) => content));
    expect(await preview({})).toStrictEqual(tried[1]);
    await set(DEFAULTS);
  });

  it('leaves one audit row, with the weights, the hits and no text of the query', async () => {
    const before = await audited();
    await leavesNothing(() => preview({ ...OLD, citation_weight: null }, { k: 1 }));
    const [row, ...more] = (await audited()).slice(before.length);
    expect(row).toMatchObject({
      operation: 'SEARCH',
      status: 'success',
      details: { preview: true, weights: OLD, k: 1, ids: [expect.any(String)] },
    });
    expect(more).toStrictEqual([]);
    expect(JSON.stringify(row)).not.toContain('zwieback');
  });

  it.each<[unknown, object, string, string]>([
    [{ lexical_weight: 1 }, {}, 'L9VAL', 'weights'],
    [{ tenant_id: '01900000-0000-7000-8000-000000000000' }, {}, 'L9VAL', 'weights'],
    [[0.5], {}, 'L9VAL', 'weights'],
    [{ match_weight: 1.1 }, {}, 'L9VAL', 'match_weight'],
    [{ match_weight: 'much' }, {}, 'L9VAL', 'match_weight'],
    [{ match_weight: 0, recency_weight: 0, proximity_weight: 0, citation_weight: 0 }, {}, 'L9VAL', 'match_weight'],
    [{ half_life_days: { note: 0 } }, {}, 'L9VAL', 'half_life_days'],
    [{ half_life_days: { note: 'a week' } }, {}, 'L9VAL', 'half_life_days'],
    [{}, { k: 101 }, 'L9VAL', 'k'],
    [{ half_life_days: { ['x'.repeat(16384)]: 1 } }, {}, 'L9LIM', 'weights'],
  ])('refuses %j %j, names the field and changes nothing', async (weights, args, code, column) => {
    await leavesNothing(() => expect(preview(weights, args)).rejects.toMatchObject({ code, column }));
  });

  it('refuses agents and administrators with a limited token', async () => {
    await leavesNothing(async () => {
      await expect(preview(OLD, {}, 'C')).rejects.toMatchObject({ code: '42501' });
      for (const claims of [{ 'jwt.claims.scopes': 'developer' }, { 'jwt.claims.projects': 'l9' }])
        for (const weights of [OLD, {}])
          await expect(preview(weights, {}, 'L', claims)).rejects.toMatchObject({ code: 'L9SCP' });
    });
  });
});
