// The overhead of the gateway: a search through GraphQL against the same SQL in the same transaction by pg.
import { newPool } from '../db/tests/support/migrations.ts';
import { type Bench, ratio } from './support/bench.ts';
import { closedLoop, inTurn, mustSucceed, perSecond, quantile, ratioOf, timed } from './support/load.ts';
import { graphqlSearch, sqlSearch, warmUp } from './support/searching.ts';

const CLIENTS = 8;
/** The default of the gateway. */
const POOL = 4;
const ASKED = 25;

export const graphql: Bench = {
  name: 'graphql',
  about: 'a search through GraphQL, against the same SQL by pg',
  async run(context) {
    const { id } = context.tenant('two percent');
    const queries = await context.queries('usual');
    const gateway = await context.gateway();
    const token = await gateway.tokenOf(id);
    const pool = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: POOL });
    try {
      const bySql = sqlSearch(pool, id);
      const query = (n: number) => queries[n % queries.length]!;
      const ours = (n: number) => graphqlSearch(gateway, token, query(n).query);
      const theirs = (n: number) => bySql(query(n));
      for (let n = 0; n < 20; n++) {
        const [mine, other] = [await ours(n), await theirs(n)];
        if (JSON.stringify(mine) !== JSON.stringify(other))
          throw new Error(`"${query(n).query}" got different answers`);
        if (mine.mode !== 'hybrid' || mine.ids.length === 0) throw new Error(`"${query(n).query}" found nothing`);
      }
      await warmUp(gateway, token, queries, context.seconds);
      const many = (work: (n: number) => Promise<unknown>) => async (round: number) => {
        const times: number[] = [];
        for (let n = 0; n < ASKED; n++) times.push(await timed(() => work(round * ASKED + n)));
        return times;
      };
      const alone = await inTurn(Math.max(2, Math.round(context.seconds * 1.5)), {
        ours: many(ours),
        theirs: many(theirs),
      });
      const rate = (work: (n: number) => Promise<unknown>) => async (round: number) => {
        const load = { clients: CLIENTS, seconds: context.seconds / 4 };
        const sample = await closedLoop(load, (n) => work(round * 97 + n));
        mustSucceed(sample, 'searches');
        return [perSecond(sample)];
      };
      const together = await inTurn(4, { ours: rate(ours), theirs: rate(theirs) });
      return [
        ratio({
          what: 'search through GraphQL, one client, p50',
          against: 'the same SQL by pg',
          ours: quantile(alone.ours.flat(), 0.5),
          theirs: quantile(alone.theirs.flat(), 0.5),
          figure: ratioOf(alone.ours, alone.theirs, 0.5),
          unit: 'ms',
          goal: { atMost: 1.3 },
        }),
        ratio({
          what: `search through GraphQL, ${CLIENTS} clients, throughput`,
          against: `the same SQL by pg, ${POOL} connections`,
          ours: quantile(together.ours.flat(), 0.5),
          theirs: quantile(together.theirs.flat(), 0.5),
          figure: ratioOf(together.ours, together.theirs, 0.5),
          unit: '/s',
          goal: { atLeast: 0.7 },
        }),
      ];
    } finally {
      await pool.end();
    }
  },
};
