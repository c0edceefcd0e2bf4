// The pure function that computes how much a memory matters.
import fc from 'fast-check';
import { useTestDatabase } from '../support/test-database.ts';

const arguments_ = ['estimate', 'kind', 'useful', 'useless', 'age_days'] as const;
type Argument = (typeof arguments_)[number];
type Case = Record<Exclude<Argument, 'kind'>, number> & { kind: string };

/** Which way the score goes with each, strictly. */
const directions: [Exclude<Argument, 'kind'>, number][] = [
  ['estimate', 1],
  ['useful', 1],
  ['useless', -1],
  ['age_days', -1],
];

// Not the smallest doubles there are, which no sum of voices comes to.
const between = (min: number, max: number) =>
  fc.double({ min, max, noNaN: true }).map((value) => (value < 1e-9 ? min : value));
const anyCase: fc.Arbitrary<Case> = fc.record({
  estimate: between(0, 1),
  kind: fc.constantFrom('note', 'finding', 'todo', 'anything_else'),
  useful: between(0, 1_000),
  useless: between(0, 1_000),
  age_days: between(0, 20_000),
});

describe('importance()', () => {
  const db = useTestDatabase({ rollsBack: true });

  /** The scores of many cases, in one query. */
  const scores = async (cases: Case[]): Promise<number[]> => {
    const types = { kind: 'text' } as Record<string, string>;
    const rows = await db.sql(
      'C',
      `select importance.importance(${arguments_.map((name) => `c.${name}`)}) as score
       from unnest(${arguments_.map((name, i) => `$${i + 1}::${types[name] ?? 'float8'}[]`)})
         with ordinality as c (${arguments_}, place) order by place`,
      arguments_.map((name) => cases.map((one) => one[name])),
    );
    return rows.map(({ score }) => score);
  };
  const plain: Case = {
    estimate: 0.5,
    kind: 'note',
    useful: 0,
    useless: 0,
    age_days: 0,
  };

  it('stays above 0 and below 1 for any arguments', async () => {
    const cases = fc.sample(anyCase, { numRuns: 2_000, seed: 1 });
    for (const estimate of [0, 1]) {
      for (const useful of [0, 1e9]) {
        for (const useless of [0, 1e9]) cases.push({ ...plain, estimate, useful, useless, age_days: 1e6 });
      }
    }
    const all = await scores(cases);
    expect(all.every((score) => score > 0 && score < 1)).toBe(true);
  });

  for (const [argument, direction] of directions) {
    it(`${direction > 0 ? 'rises' : 'falls'} with ${argument}, all else equal`, async () => {
      const pairs = fc.sample(fc.tuple(anyCase, between(1e-3, 1)), { numRuns: 500, seed: 2 });
      const less = pairs.map(([one]) => ({
        ...one,
        [argument]: argument === 'estimate' ? one.estimate * 0.9 : one[argument],
      }));
      const more = pairs.map(([one, by], i) => {
        const from = less[i]![argument];
        return { ...one, [argument]: argument === 'estimate' ? Math.min(1, from + by * 0.1) : from + by * (1 + from) };
      });
      const [before, after] = [await scores(less), await scores(more)];
      before.forEach((score, i) => {
        expect(
          direction * (after[i]! - score),
          JSON.stringify([less[i], more[i], score, after[i]]),
        ).toBeGreaterThanOrEqual(0);
      });
      // In the middle of the range, where a double has digits left, it moves strictly.
      const by = argument === 'age_days' ? 30 : 0.3;
      const [low, high] = await scores([plain, { ...plain, [argument]: plain[argument] + by }]);
      expect(direction * (high! - low!)).toBeGreaterThan(0.001);
    });
  }

  it('equals the writer’s estimate without other evidence', async () => {
    const estimates = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
    const learned = await scores(estimates.map((estimate) => ({ ...plain, estimate })));
    for (const [i, estimate] of estimates.entries())
      expect(Math.abs(learned[i]! - estimate), `${estimate}: ${learned[i]}`).toBeLessThan(0.03);
    expect(learned[3]).toBe(0.5);
  });

  it('rises less and less with each further agent', async () => {
    const all = await scores([0, 1, 2, 3, 4].map((useful) => ({ ...plain, useful })));
    const gains = all.slice(1).map((score, i) => score - all[i]!);
    for (const [i, gain] of gains.slice(1).entries()) expect(gain > 0 && gain < gains[i]!).toBe(true);
  });

  it('moves by less than 0.1 for one agent, whatever the others say and however much it matters', async () => {
    // Readers count half and decay, so that the other voices may be any sum.
    const others = fc.sample(anyCase, { numRuns: 2_000, seed: 3 });
    for (const useful of [0, 0.5, 1, 2, 10]) {
      for (const useless of [0, 0.5, 1, 2, 10]) others.push({ ...plain, useful, useless });
    }
    const without = await scores(others);
    const its = [
      await scores(others.map((one) => ({ ...one, useful: one.useful + 1 }))),
      await scores(others.map((one) => ({ ...one, useless: one.useless + 1 }))),
    ];
    for (const moved of its) {
      for (const [i, score] of moved.entries()) {
        expect(Math.abs(score - without[i]!), JSON.stringify(others[i])).toBeLessThan(0.1);
      }
    }
    const [before, one, two, three] = await scores([0, 1, 2, 3].map((useless) => ({ ...plain, useless })));
    expect([before! - one!, before! - two!, before! - three!].map((by) => by.toFixed(2))).toStrictEqual([
      '0.10',
      '0.17',
      '0.23',
    ]);
  });

  it('hears the last vote of an agent, else what it built on the memory, less its contradiction', async () => {
    const rows = await db.sql(
      'C',
      `select v.vote, v.used, v.contradicted, importance.voice(v.vote::smallint, v.used, v.contradicted) as voice
       from (values (1, false, false), (1, true, false), (1, true, true), (-1, true, false), (-1, false, true),
         (null, true, false), (null, true, true), (null, false, true), (null, false, false)) as v (vote, used, contradicted)`,
    );
    expect(rows.map(({ voice }) => voice)).toStrictEqual([1, 1, 0, -1, -1, 1, 0, -1, 0]);
  });

  it('halves the weight of use every 30 days', async () => {
    const [row] = await db.sql(
      'C',
      `select importance.decayed(8, t, t) as now, importance.decayed(8, t, t + interval '30 days') as later,
         importance.decayed(8, t, t - interval '1 day') as before, importance.decayed(8, null, t) as never
       from (select timestamptz '2026-01-01 00:00Z') as x (t)`,
    );
    expect(row).toStrictEqual({ now: 8, later: 4, before: 8, never: 0 });
  });

  it('declares itself and all functions that it calls pure', async () => {
    const rows = await db.sql(
      'C',
      `select proname, provolatile, proparallel from pg_proc where pronamespace = 'importance'::regnamespace
         and proname in ('importance', 'importance_of', 'kind_weight', 'voice', 'decayed')`,
    );
    expect(rows).toHaveLength(5);
    for (const { proname, provolatile, proparallel } of rows) expect(provolatile + proparallel, proname).toBe('is');
  });
});
