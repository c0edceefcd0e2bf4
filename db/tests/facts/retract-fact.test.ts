import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { assertFact, contradictionsOf, factNow, objects, registerPredicate, retractFact } from './support.ts';

const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}T00:00:00Z`;

describe('retract_fact and register_predicate', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    for (const predicate of ['status']) await registerPredicate(db, predicate);
  });

  it('retracts a fact with a reason and restores the fact it superseded', async () => {
    const packet = await saveMemory(db, 'L', { content: 'it is done' });
    const open = await assertFact(db, 'C', ['issue 8', 'status', 'open']);
    const done = await assertFact(db, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    expect(await contradictionsOf(db, open.source_packet)).toBe(1);
    const retracted = await retractFact(db, 'L', done.fact_id, ' the wrong issue ');
    expect(retracted.retraction_reason).toBe('the wrong issue');
    expect(retracted.retracted_at).toBeTruthy();
    const now = (await factNow(db, open.fact_id))!;
    expect([now.valid_to, now.superseded_by, now.superseded_at, now.contradiction_count]).toStrictEqual([
      null,
      null,
      null,
      0,
    ]);
    expect([await contradictionsOf(db, open.source_packet), await contradictionsOf(db, packet)]).toStrictEqual([0, 0]);
    expect(await objects(db, 'C', 'issue 8')).toStrictEqual(['open']);
    await expect(retractFact(db, 'L', done.fact_id)).rejects.toMatchObject({ code: 'L9VAL' });
    const again = await assertFact(db, 'L', ['issue 8', 'status', 'done'], { source_packet: packet });
    expect(again.fact_id).not.toBe(done.fact_id);
    expect(await objects(db, 'C', 'issue 8')).toStrictEqual(['done']);
  });

  it('recomputes existing facts when a predicate is registered, and again when that is undone', async () => {
    for (const [object, n] of [
      ['red', 1],
      ['green', 2],
      ['blue', 3],
    ] as const)
      await assertFact(db, 'C', ['the button', 'has colour', object], { valid_from: day(n) });
    const colours = () => objects(db, 'C', 'the button');
    expect(await colours()).toHaveLength(3);
    await registerPredicate(db, 'Has  Colour');
    expect(await colours()).toStrictEqual(['blue']);
    expect(await objects(db, 'C', 'the button', { valid_at: day(2) })).toStrictEqual(['green']);
    await registerPredicate(db, 'has colour', false);
    expect(await colours()).toHaveLength(3);
    await expect(db.sql('C', "select public.register_predicate('mine')")).rejects.toMatchObject({ code: '42501' });
    const [row] = await db.asSuperuser(
      `select count(*)::int as n from public.audit_log where table_name = 'fact_predicates' and details ->> 'predicate' = 'has colour'`,
    );
    expect(row.n).toBe(2);
  });
});
