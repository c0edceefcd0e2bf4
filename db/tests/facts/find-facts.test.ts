import { rollUp } from '../importance/support.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { assertFact, factNow, objects, registerPredicate, retractFact } from './support.ts';

/** Times of the database are finer than those of JavaScript. */
const justAfter = (time: Date, ms = 1) => new Date(time.getTime() + ms);
const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

describe('find_facts and facts_as_of', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (const predicate of ['lives in']) await registerPredicate(db, predicate);
  });

  it('finds facts by filters, audits the read and counts the use', async () => {
    const [expected] = [
      await assertFact(db, 'C', ['the cache', 'holds', 64], { confidence: 0.9 }),
      await assertFact(db, 'C', ['the cache', 'holds', 'vectors'], { confidence: 0.4 }),
    ];
    expect(await objects(db, 'C', 'THE cache')).toStrictEqual([64, 'vectors']);
    expect(await objects(db, 'C', 'the cache', { min_confidence: 0.5 })).toStrictEqual([64]);
    expect(await objects(db, 'C', 'the cache', { object: '64' })).toStrictEqual([64]);
    expect(await objects(db, 'C', 'the cache', { k: 1 })).toStrictEqual([64]);
    expect(await objects(db, 'C', 'the cache', { project_id: 'other' })).toStrictEqual([]);
    expect(await objects(db, 'C', 'the cache', { scope: 'global' })).toStrictEqual([]);
    await rollUp(db);
    const counted = (await factNow(db, expected.fact_id))!;
    expect(counted.access_count).toBe('4');
    const [row] = await db.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'READ' and table_name = 'knowledge_facts' and details -> 'ids' ? $1`,
      [expected.fact_id],
    );
    expect(row.n).toBe(4);
    const [changes] = await db.asSuperuser(
      `select count(*)::int as n from public.audit_log where operation = 'UPDATE' and table_name = 'knowledge_facts' and row_id = $1`,
      [expected.fact_id],
    );
    expect(changes.n, 'counting accesses writes no audit row').toBe(0);
  });

  it('returns what was true at one time as it was known at another', async () => {
    const asOf = async (valid_at: unknown, known_at: unknown, caller = 'C') =>
      db.sql(
        caller,
        `select (a.fact).object as object, (a.replaced).object as replaced, a.valid_from, a.valid_to
         from public.facts_as_of($1, $2, subject => 'Mara', predicate => 'lives in') a`,
        [valid_at, known_at],
      );
    const rome = await assertFact(db, 'C', ['Mara', 'lives in', 'Rome'], { valid_from: day(1) });
    const oslo = await assertFact(db, 'L', ['Mara', 'lives in', 'Oslo'], { valid_from: day(20) });
    const bern = await assertFact(db, 'L', ['Mara', 'lives in', 'Bern'], { valid_from: day(10) });

    const pairs = (rows: { object: string; replaced: string | null }[]) =>
      rows.map(({ object, replaced }) => [object, replaced]);
    expect(pairs(await asOf(null, null))).toStrictEqual([['Oslo', 'Bern']]);
    expect(pairs(await asOf(day(12), null))).toStrictEqual([['Bern', 'Rome']]);
    expect(pairs(await asOf(day(5), null))).toStrictEqual([['Rome', null]]);
    expect(await asOf('2026-02-01T00:00:00Z', null)).toStrictEqual([]);
    // The same times as they were known earlier.
    expect(pairs(await asOf(day(25), justAfter(rome.recorded_at)))).toStrictEqual([['Rome', null]]);
    expect(pairs(await asOf(day(12), justAfter(oslo.recorded_at)))).toStrictEqual([['Rome', null]]);
    expect(pairs(await asOf(day(25), justAfter(oslo.recorded_at)))).toStrictEqual([['Oslo', 'Rome']]);
    expect(pairs(await asOf(day(25), justAfter(bern.recorded_at)))).toStrictEqual([['Oslo', 'Bern']]);
    expect(await asOf(null, '2026-01-01T00:00:00Z')).toStrictEqual([]);
    const [first] = await asOf(day(12), justAfter(oslo.recorded_at));
    expect(first.valid_to.toISOString()).toBe(new Date(day(20)).toISOString());

    // A retracted fact was never true, but it was known until its retraction.
    const wrong = await retractFact(db, 'L', oslo.fact_id, 'a misunderstanding');
    expect(pairs(await asOf(null, null))).toStrictEqual([['Bern', 'Rome']]);
    expect(pairs(await asOf(null, justAfter(wrong.retracted_at!, -1)))).toStrictEqual([['Oslo', 'Bern']]);
  });
});
