// Words that do not tell thousands of memories apart: the scan of the index stops within the crowd, at a place that its order decides.
import { serverUrl } from '../../support/engine.ts';
import { useTestDatabase } from '../../support/test-database.ts';

const WORDS = ['merger', 'zxq81k', 'weaka', 'weakb', 'weakc', 'weakd'];
/** More than ranking.walk_words() looks at, rounded up to its last step. */
const CROWD = 13_000;
const BATCH = 1_000;

/** Every combination of the words on a server; in WebAssembly some of them. */
const queries = Array.from({ length: 63 }, (_, n) =>
  WORDS.filter((_, place) => (n + 1) & (1 << place)).join(' '),
).filter((_, n) => serverUrl || n % 16 === 2);

describe('an attacker with thousands of memories of one score', () => {
  const db = useTestDatabase();
  const insert = (caller: string, scope: string, texts: string, values: unknown[] = []) =>
    db.sql(
      caller,
      `insert into public.packet_store (envelope, scope, project_id)
       select jsonb_build_object('content', t.content), '${scope}', 'p1' from (${texts}) t (content)`,
      values,
    );
  const inBatches = async (count: number, work: (from: number, to: number) => Promise<unknown>) => {
    for (let from = 1; from <= count; from += BATCH) await work(from, Math.min(count, from + BATCH - 1));
  };

  beforeAll(async () => {
    // The oldest are a ladder of scores just above the crowd: the answer names those above its edge.
    await insert(
      'C',
      'developer',
      `select 'merger zxq81k rung' || n || repeat(' weaka', n / 64) || repeat(' weakb', n / 16 % 4) || repeat(' weakc', n / 4 % 4) || repeat(' weakd', n % 4)
       from generate_series(0, 255) n`,
    );
    await inBatches(CROWD, (from, to) =>
      insert('C', 'developer', `select 'merger zxq81k crowd' || n from generate_series($1::integer, $2::integer) n`, [
        from,
        to,
      ]),
    );
    await db.asSuperuser('vacuum analyze public.packet_store');
    await db.asWorker('select ranking.count_stale_audiences(100)');
  });

  const answers = (asked = queries) =>
    db.asCaller('C', async (client) => {
      const all: string[] = [];
      for (const query of asked) {
        const { rows } = await client.query(
          `select jsonb_agg(jsonb_build_array(h.packet_id, h.lexical_score, h.relevance, h.content))::text as answer
           from public.search_memory($1, k => 100, mode => 'lexical') s, unnest(s.hits) h`,
          [query],
        );
        all.push(rows[0].answer);
      }
      return all;
    });

  it('gets the same answers whatever is hidden', async () => {
    const before = await answers();
    expect(before.filter((answer) => answer.includes('crowd'))).not.toHaveLength(0);
    let written = 0;
    const changes = [
      ['merger', 1],
      ['merger', 1_000],
      ['zxq81k weakb', 3_000],
      ['weaka weakd', 2_000],
    ] as const;
    for (const [turn, [words, count]] of changes.entries()) {
      await inBatches(count, (from, to) =>
        insert('L', 'l-private', `select $1 || ' secret' || n from generate_series($2::integer, $3::integer) n`, [
          words,
          written + from,
          written + to,
        ]),
      );
      written += count;
      // Every fourth query after each change, in turn, and all of them in the end: what is hidden only grows.
      const isAsked = (n: number) => !serverUrl || turn === changes.length - 1 || n % changes.length === turn;
      const asked = queries.filter((_, n) => isAsked(n));
      expect(await answers(asked)).toStrictEqual(before.filter((_, n) => isAsked(n)));
    }
  });
});
