// memory_find against a hybrid search_memory, over HTTP and GraphQL, one question after the other.
import { type Bench, type Context, type Row, ratio } from './support/bench.ts';
import type { Gateway } from './support/gateway.ts';
import { inTurn, quantile, timed } from './support/load.ts';
import { graphqlSearch, warmUp } from './support/searching.ts';
import type { TenantName } from './support/tenants.ts';

const GOALS = { fast: 0.35, deep: 1.3 };
const PER_ROUND = 10;

const FIND = `query ($query: String!, $mode: FindMode!) {
  memoryFind(query: $query, mode: $mode) {
    hits { packetId snippet score confidence kind scope projectId fields updatedAt } searched { routeUsed }
  }
}`;

async function graphqlFind(gateway: Gateway, token: string, query: string, mode: string): Promise<string[]> {
  const { hits } = (await gateway.client.graphql(token, FIND, { query, mode })).memoryFind;
  return hits.map(({ packetId }: { packetId: string }) => packetId);
}

async function compare(context: Context, name: TenantName): Promise<Row[]> {
  const gateway = await context.gateway();
  const { id, visible } = context.tenant(name);
  const token = await gateway.tokenOf(id);
  const queries = await context.queries('usual');
  await warmUp(gateway, token, queries, context.seconds / 4);
  const ask = (find: (query: string) => Promise<unknown>) => async (round: number) => {
    const times: number[] = [];
    for (let n = 0; n < PER_ROUND; n++) {
      const { query } = queries[(round * PER_ROUND + n) % queries.length]!;
      times.push(await timed(() => find(query)));
    }
    return times;
  };
  const times = await inTurn(Math.max(3, Math.ceil(context.seconds * 2)), {
    fast: ask((query) => graphqlFind(gateway, token, query, 'fast')),
    deep: ask((query) => graphqlFind(gateway, token, query, 'deep')),
    hybrid: ask((query) => graphqlSearch(gateway, token, query)),
  });
  const p50 = (all: number[][]) => quantile(all.flat(), 0.5);
  return (['fast', 'deep'] as const).map((mode) =>
    ratio({
      what: `memory_find ${mode}, the caller sees ${visible.toLocaleString('en')} of ${context.rows.toLocaleString('en')}, p50`,
      against: 'hybrid search_memory',
      ours: p50(times[mode]),
      theirs: p50(times.hybrid),
      unit: 'ms',
      goal: { atMost: GOALS[mode] },
      note: `${times[mode].flat().length} questions each`,
    }),
  );
}

export const find: Bench = {
  name: 'memory_find',
  about: 'memory_find fast and deep, against hybrid search_memory',
  async run(context) {
    return [...(await compare(context, 'two percent')), ...(await compare(context, 'sixty percent'))];
  },
};
