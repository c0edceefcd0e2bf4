// Searches of this checkout against those of an earlier one, in one sitting: each loads a database of its own and runs its own gateway,
// and both are asked the same questions over GraphQL in turn.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Row, ratio } from './support/bench.ts';
import { childrenOf, processorSeconds } from './support/child.ts';
import type * as databases from './support/database.ts';
import type * as gateways from './support/gateway.ts';
import { inTurn, mean, quantile, timed } from './support/load.ts';
import { table } from './support/results.ts';
import type * as searching from './support/searching.ts';
import { type TenantName, tenantsFor } from './support/tenants.ts';

const usage = `npm run bench:before -- --folder CHECKOUT [options]

  --folder DIR   an earlier checkout (git worktree add DIR COMMIT) in which \`npm ci\` has run
  --rows N       memories to load into each of the two databases: 100000 unless given
  --rounds N     blocks of questions a side: 6 unless given

TEST_DATABASE_URL: a superuser of a PostgreSQL 18 server on this machine.`;

const PER_ROUND = 40;
const MOST_WARM_UP = 200;
const FIND = 'query ($query: String!) { memoryFind(query: $query, mode: fast) { hits { packetId } } }';
// A search of a million has its own goal.
const MANY = 1_000_000;
const goalOf = (tenant: TenantName, rows: number) => (rows >= MANY ? 0.75 : tenant === 'two percent' ? 0.5 : 0.65);
const FAST_OF_EARLIER_HYBRID = 0.35;

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string' },
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '6' },
  },
});

/** A checkout with its loaded database and its gateway. */
async function open(folder: string, serverUrl: string, rows: number) {
  const module = (name: string) => import(pathToFileURL(resolve(folder, 'bench', 'support', name)).href);
  const { openBenchDatabase }: typeof databases = await module('database.ts');
  const { startBenchGateway }: typeof gateways = await module('gateway.ts');
  const { graphqlSearch }: typeof searching = await module('searching.ts');
  const database = await openBenchDatabase(serverUrl, rows, (line) => console.error(`${folder}: ${line}`));
  // The other checkout drops databases of other schemas, unless somebody is connected.
  const held = await database.superuser.connect();
  const others = childrenOf(process.pid);
  const gateway = await startBenchGateway(database);
  const started = childrenOf(process.pid).filter((pid) => !others.includes(pid));
  const { rows: questions } = await held.query<{ query: string }>(
    "select query from bench.queries where kind = 'usual' order by n",
  );
  return {
    questions: questions.map(({ query }) => query),
    searcher: async (tenant: string) => {
      const token = await gateway.tokenOf(tenant);
      return {
        hybrid: (query: string) => graphqlSearch(gateway, token, query),
        fast: (query: string) => gateway.client.graphql(token, FIND, { query }),
      };
    },
    /** Of the gateway and of its sessions at the server. */
    async processorTime() {
      const { rows: sessions } = await held.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()",
      );
      return [...started, ...sessions.map(({ pid }) => pid)].reduce((sum, pid) => sum + processorSeconds(pid), 0);
    },
    async close() {
      await gateway.close();
      held.release();
      await database.close(false);
    },
  };
}

type Side = Awaited<ReturnType<typeof open>>;
type Kind = 'hybrid' | 'fast';

async function compare(now: Side, before: Side, name: TenantName, rows: number): Promise<Row[]> {
  const { id, visible } = tenantsFor(rows).find((tenant) => tenant.name === name)!;
  const ask = async (side: Side, kind: Kind) => {
    const search = (await side.searcher(id))[kind];
    const question = (n: number) => search(side.questions[n % side.questions.length]!);
    for (let n = 0; n < Math.min(MOST_WARM_UP, PER_ROUND * Number(options.rounds)); n++) await question(n);
    // The first figure of a block is the processor's time of one of its searches, and the others are what each took.
    return async (round: number) => {
      const from = await side.processorTime();
      const times: number[] = [];
      for (let n = 0; n < PER_ROUND; n++) times.push(await timed(() => question(round * PER_ROUND + n)));
      return [((await side.processorTime()) - from) * (1_000 / PER_ROUND), ...times];
    };
  };
  const blocks = await inTurn(Number(options.rounds), {
    hybridBefore: await ask(before, 'hybrid'),
    hybridNow: await ask(now, 'hybrid'),
    fastBefore: await ask(before, 'fast'),
    fastNow: await ask(now, 'fast'),
  });
  const processor = (of: keyof typeof blocks) => mean(blocks[of].map(([ms]) => ms!));
  const p50 = (of: keyof typeof blocks) =>
    quantile(
      blocks[of].flatMap(([, ...times]) => times),
      0.5,
    );
  const sees = `the caller sees ${visible.toLocaleString('en')} of ${rows.toLocaleString('en')}`;
  const row = (
    what: string,
    against: string,
    ours: keyof typeof blocks,
    theirs: keyof typeof blocks,
    atMost?: number,
  ) =>
    ratio({
      what: `${what}, ${sees}, processor's time`,
      against,
      ours: processor(ours),
      theirs: processor(theirs),
      unit: 'ms',
      ...(atMost !== undefined && { goal: { atMost } }),
      note: `p50 ${p50(ours).toFixed(1)} and ${p50(theirs).toFixed(1)} ms, ${(p50(ours) / p50(theirs)).toFixed(2)}×`,
    });
  return [
    row('hybrid', 'hybrid before', 'hybridNow', 'hybridBefore', goalOf(name, rows)),
    row('memory_find fast', 'hybrid before', 'fastNow', 'hybridBefore', FAST_OF_EARLIER_HYBRID),
    row('memory_find fast', 'hybrid now', 'fastNow', 'hybridNow'),
    row('memory_find fast', 'memory_find fast before', 'fastNow', 'fastBefore'),
  ];
}

async function main() {
  const serverUrl = process.env.TEST_DATABASE_URL;
  const rows = Number(options.rows);
  if (!options.folder || !serverUrl || !(rows >= 2_000) || !(Number(options.rounds) >= 1)) throw new Error(usage);
  const before = await open(options.folder, serverUrl, rows);
  try {
    const now = await open('.', serverUrl, rows);
    try {
      const results: Row[] = [];
      for (const name of ['two percent', 'sixty percent'] as const)
        results.push(...(await compare(now, before, name, rows)));
      console.log(`\n${table(results)}\n`);
      if (results.some(({ isReached }) => isReached === false)) process.exitCode = 1;
    } finally {
      await now.close();
    }
  } finally {
    await before.close();
  }
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
