// A fact may be stated with its end.
import { useTestDatabase } from '../support/test-database.ts';
import { assertFact, registerPredicate, retractFact } from './support.ts';

const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;
const on = (n: number) => new Date(day(n));

describe('valid_to', () => {
  const db = useTestDatabase();
  beforeAll(() => registerPredicate(db, 'is sold by'));

  const asOf = async (subject: string, at: string, known = 'now()') =>
    (
      await db.sql('C', `select (f.fact).object from public.facts_as_of($2, known_at => ${known}, subject => $1) f`, [
        subject,
        at,
      ])
    ).map(({ object }) => object);

  it('ends a fact, of one value and of many', async () => {
    for (const predicate of ['is sold by', 'comes with']) {
      const fact = await assertFact(db, 'C', [`oven ${predicate}`, predicate, 'Ann'], {
        valid_from: day(1),
        valid_to: day(10),
      });
      expect([fact.valid_from, fact.valid_to]).toStrictEqual([on(1), on(10)]);
      expect(await asOf(`oven ${predicate}`, day(9))).toStrictEqual(['Ann']);
      expect(await asOf(`oven ${predicate}`, day(11))).toStrictEqual([]);
    }
  });

  it('gives way to a value that begins earlier, and comes back when that is retracted', async () => {
    await assertFact(db, 'C', ['lamp', 'is sold by', 'Ann'], { valid_from: day(1), valid_to: day(20) });
    const next = await assertFact(db, 'C', ['lamp', 'is sold by', 'Bob'], { valid_from: day(10) });
    expect([await asOf('lamp', day(5)), await asOf('lamp', day(15)), await asOf('lamp', day(25))]).toStrictEqual([
      ['Ann'],
      ['Bob'],
      ['Bob'],
    ]);
    await retractFact(db, 'C', next.fact_id);
    expect([await asOf('lamp', day(15)), await asOf('lamp', day(25))]).toStrictEqual([['Ann'], []]);
  });

  it('is what the last statement says, and is gone when the fact is stated again from later on', async () => {
    const state = (args: Record<string, unknown>) => assertFact(db, 'C', ['desk', 'comes with', 'drawers'], args);
    await state({ valid_from: day(1) });
    expect((await state({ valid_from: day(2), valid_to: day(10) })).valid_to).toStrictEqual(on(10));
    expect((await state({ valid_from: day(3) })).valid_to).toStrictEqual(on(10));
    expect((await state({ valid_from: day(3), valid_to: day(8) })).valid_to).toStrictEqual(on(8));
    expect(await asOf('desk', day(9))).toStrictEqual([]);
    expect((await state({ valid_from: day(15) })).valid_to).toBeNull();
    expect(await asOf('desk', day(16))).toStrictEqual(['drawers']);
  });

  it('is no end yet for whoever asks what was known before it was stated', async () => {
    const state = (args: Record<string, unknown>) => assertFact(db, 'C', ['shelf', 'comes with', 'screws'], args);
    await state({ valid_from: day(1) });
    const [{ at }] = await db.sql('C', 'select clock_timestamp()::text as at');
    await new Promise((resolve) => setTimeout(resolve, 5));
    await state({ valid_from: day(2), valid_to: day(10) });
    expect(await asOf('shelf', day(11), `'${at}'`)).toStrictEqual(['screws']);
    expect(await asOf('shelf', day(11))).toStrictEqual([]);
  });

  it.each([
    ['before it begins', { valid_from: day(5), valid_to: day(4) }],
    ['when it begins', { valid_from: day(5), valid_to: day(5) }],
    ['at no time', { valid_from: day(5), valid_to: 'infinity' }],
  ])('refuses an end %s', async (_, args) => {
    await expect(assertFact(db, 'C', ['chair', 'comes with', 'wheels'], args)).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'valid_to',
    });
  });
});
