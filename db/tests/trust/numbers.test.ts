// One agent, one voice: n repeats by one agent give what one gives, for every number that a ranking uses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { rankedNumbers } from './numbers.ts';

describe('a number that rankings use', () => {
  const db = useTestDatabase();
  let projects = 0;
  const place = async () => {
    const project_id = `numbers-${++projects}`;
    await saveMemory(db, 'L', { content: `the ranked memory of ${project_id}`, project_id });
    await db.sql('L', `select public.assert_fact('gate', 'state of gates', '"shut"', project_id => $1)`, [project_id]);
    return project_id;
  };
  beforeAll(async () => {
    await db.sql('L', "select public.register_actor('D')");
    await db.sql('L', "select public.register_predicate('state of gates')");
  });

  it.each(
    rankedNumbers.map((number) => [number.name, number] as const),
  )('says the same of one agent however often it repeats itself: %s', async (_, { act, read }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('C', 'D'), { minLength: 1, maxLength: 6 }), async (callers) => {
        const [often, once] = [await place(), await place()];
        for (const [n, caller] of callers.entries()) await act(db, caller, often, n);
        for (const [n, caller] of [...new Set(callers)].entries()) await act(db, caller, once, n);
        expect(await read(db, often)).toBeCloseTo(await read(db, once), 6);
      }),
      { numRuns: 4 },
    );
  });

  it('is listed in docs/explanation/trust.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/explanation/trust.md'), 'utf8');
    for (const { name } of rankedNumbers) expect(page, name).toContain(`| ${name} |`);
  });

  it('lets no agent stand above an unmarked memory or lesson of an administrator by what it gives to its own', async () => {
    const project_id = 'bounds';
    await saveMemory(db, 'C', { content: 'The kiln is fired at dawn.', project_id, importance: 1 });
    await saveMemory(db, 'L', { content: 'The kiln is fired at dusk.', project_id });
    const values = await db.asSuperuser(
      "select importance_score from public.packet_store where project_id = 'bounds' order by packet_id",
    );
    expect(values[0].importance_score).toBeLessThanOrEqual(values[1].importance_score);
    for (const [caller, word, args] of [
      ['C', 'north', ", priority => 'critical', confidence => 1"],
      ['L', 'south', ''],
    ])
      await db.sql(
        caller!,
        `select public.reflect('The kiln draws from the ${word} vent 1.', project_id => 'bounds' ${args})`,
      );
    const factors = await db.asSuperuser(
      `select creator, reflection.lesson_factor(priority, confidence) as factor from public.reflection_store
       where project_id = 'bounds' order by creator`,
    );
    expect(factors.map(({ creator }) => creator)).toStrictEqual(['Cursor-IDE', 'L-CTO']);
    expect(factors[0].factor).toBeLessThanOrEqual(factors[1].factor);
    const fact = async (caller: string, subject: string, args = '') =>
      (
        await db.sql(
          caller,
          `select (public.assert_fact($1, 'is', '1' ${args}, project_id => 'bounds')).confidence as it`,
          [subject],
        )
      )[0].it;
    expect(await fact('C', 'a', ', 1')).toBeLessThanOrEqual(await fact('L', 'b'));
    await db.sql(
      'L',
      "select public.register_actor('C', max_confidence => 0.9, max_importance => 0.9, max_priority => 'high')",
    );
    expect(await fact('C', 'c', ', 1')).toBe(0.9);
    await expect(db.sql('L', "select public.register_actor('C', max_priority => 'urgent')")).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'max_priority',
    });
  });
});
