// What masses of refused calls leave in the audit log.
import fc from 'fast-check';
import { FIRST_OF_KIND } from '../../src/audit/refusals.ts';
import { createRepeats } from '../../src/audit/repeats.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

const CALLS = 300;
const AT_ONCE = 20;

describe('a flood of refused calls', () => {
  it('leaves a bounded number of audit rows, whose numbers add up', async () => {
    const home = await createTestHome();
    let gateway: TestGateway = await startTestGateway({ embedder: standIn, home: { ...home, drop: async () => {} } });
    try {
      const secret = await gateway.save('L', 'A memory that C may not see.', { scope: 'l-private' });
      const search = 'query ($k: Int) { searchMemory(query: "x", k: $k) { hits { packetId } } }';
      const refused: [string, (n: number) => Promise<unknown>][] = [
        ['L9SCP', (n) => gateway.tool('C', 'save_memory', { content: `${n}`, scope: 'l-private', project_id: 'l9' })],
        ['L9OWN', () => gateway.tool('C', 'get_memory', { packet_id: secret })],
        ['L9VAL', () => gateway.graphql('C', search, { k: -1 })],
        ['L9VAL', (n) => gateway.tool('C', `no_such_tool_${n}`, {})],
        ['L9VAL', (n) => gateway.tool('C', 'search_memory', { query: 'x', [`no_such_field_${n}`]: 1 })],
        ['L9VAL', (n) => gateway.graphql('C', `{ noSuchField${n} }`)],
      ];
      let next = 0;
      const flood = async () => {
        for (let n = next++; n < CALLS * refused.length; n = next++) {
          // On a busy machine a call may wait too long for its turn: it is refused for that reason instead, and asked again.
          while (/L9BSY/.test(JSON.stringify(await refused[n % refused.length]![1](n))));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, flood));
      const during = await gateway.asSuperuser("select 1 from audit_log where status = 'error'");
      await gateway.instance.close();

      gateway = await startTestGateway({ embedder: standIn, home });
      const rows = await gateway.asSuperuser(
        "select sqlstate, row_id, (details ->> 'times')::int as times from audit_log where status = 'error' and caller = 'C'",
      );
      // Two kinds that repeat, a third over GraphQL, the documents that are not valid, and names that are made up; the
      // test may run across the end of a minute.
      expect(during.length).toBeLessThanOrEqual(2 * (4 * FIRST_OF_KIND + 100));
      expect(rows.length).toBeLessThanOrEqual(2 * (4 * FIRST_OF_KIND + 220));
      const sums: Record<string, number> = {};
      for (const { sqlstate, times } of rows) sums[sqlstate] = (sums[sqlstate] ?? 0) + (times ?? 1);
      expect(sums).toStrictEqual({ L9SCP: CALLS, L9OWN: CALLS, L9VAL: 4 * CALLS });
      expect(
        rows.filter(({ sqlstate, times }) => sqlstate === 'L9OWN' && times === null).length,
      ).toBeGreaterThanOrEqual(FIRST_OF_KIND);
      // Those that have a row of their own say which memory it was.
      for (const { sqlstate, row_id, times } of rows)
        if (sqlstate === 'L9OWN') expect(row_id).toBe(times === null ? secret : null);
    } finally {
      await gateway.close();
    }
  });
});

describe('a repeated event', () => {
  interface Event {
    kind: string;
    group: string;
  }
  const temporary = new Error('try again');
  const repeatsOf = (write: (event: Event, times: number) => void, onLost = () => {}) =>
    createRepeats<Event>({
      kindOf: ({ kind }) => kind,
      groupOf: ({ group }) => group,
      write: async (event, times) => write(event, times),
      others: ({ group }) => ({ kind: 'others', group }),
      isTemporary: (error) => error === temporary,
      onLost,
      first: 3,
      maxRows: 8,
      maxKinds: 4,
    });

  it('is counted each time, in few rows', async () => {
    const events = fc.array(fc.record({ kind: fc.constantFrom(...'abcdefghij'), group: fc.constantFrom('C', 'L') }), {
      maxLength: 200,
    });
    await fc.assert(
      fc.asyncProperty(events, async (all) => {
        const rows: { event: Event; times: number }[] = [];
        const repeats = repeatsOf((event, times) => rows.push({ event, times }));
        for (const event of all) await repeats.add(event);
        await repeats.close();
        for (const group of ['C', 'L']) {
          const ours = rows.filter(({ event }) => event.group === group);
          expect(ours.reduce((sum, { times }) => sum + times, 0)).toBe(all.filter((one) => one.group === group).length);
          expect(ours.length).toBeLessThanOrEqual(8 + 4 + 1);
        }
      }),
    );
  });

  it('is written later where the database cannot do it now, and is lost only where it never can', async () => {
    const rows: number[] = [];
    let lost = 0;
    let isAway = true;
    const repeats = repeatsOf(
      (_event, times) => {
        if (isAway) throw temporary;
        rows.push(times);
      },
      () => {
        lost += 1;
      },
    );
    for (let n = 0; n < 5; n++) await repeats.add({ kind: 'a', group: 'C' });
    isAway = false;
    await repeats.close();
    expect([rows, lost]).toStrictEqual([[5], 0]);

    const broken = repeatsOf(() => {
      throw new Error('never');
    });
    await expect(broken.add({ kind: 'a', group: 'C' })).rejects.toThrow('never');
    await broken.close();
  });
});
