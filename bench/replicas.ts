// `npm run bench:replicas`: which part of a search leaves the primary when replicas are read. It runs a primary and two streaming
// replicas of its own (`.ci/cluster install`), and a gateway that knows none, one or both of them. The nodes share a machine, so
// what counts is the processor time that each took, as /proc has it.
import { parseArgs } from 'node:util';
import { type Server, startPrimary, startReplica } from '../cluster/support/postgres.ts';
import { openWorkplace } from '../cluster/support/programs.ts';
import { eventually } from '../db/tests/support/eventually.ts';
import { type Query, type Row, ratio } from './support/bench.ts';
import { processorSeconds } from './support/child.ts';
import { type BenchDatabase, openBenchDatabase } from './support/database.ts';
import { startBenchGateway } from './support/gateway.ts';
import { closedLoop, mean, mustSucceed, quantile } from './support/load.ts';
import { table } from './support/results.ts';
import { graphqlSearch, warmUp } from './support/searching.ts';
import { tenantsFor } from './support/tenants.ts';

const usage = `npm run bench:replicas -- [options]

  --rows N      memories to load: 100000 unless given
  --seconds S   how long each step with load lasts: 20 unless given
  --rounds R    how often none, one and two replicas are measured in turn: 3 unless given

It ends with 1 where a goal is missed.`;

const CLIENTS = 4;
const COUNTS = [0, 1, 2];
const QUERIES = "select query, vector::text as vector from bench.queries where kind = 'usual' order by n";
const SETTINGS = { shared_buffers: '1GB', fsync: 'on' };

/** Of a search, on average. */
interface Measured {
  /** Processor time in milliseconds: the primary, the replicas, the gateway. */
  primary: number;
  replicas: number[];
  gateway: number;
  /** How long it took from the client's side. */
  ms: number[];
  /** How long the record of it took. */
  records: number[];
}

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});

const urlOn = (server: Server, database: BenchDatabase) => {
  const url = new URL(database.home.env.DATABASE_URL!);
  url.port = String(server.port);
  return url.href;
};

async function measure(
  database: BenchDatabase,
  tenantId: string,
  primary: Server,
  replicas: readonly Server[],
  count: number,
  seconds: number,
): Promise<Measured> {
  const urls = replicas.slice(0, count).map((replica) => urlOn(replica, database));
  const gateway = await startBenchGateway(database, {
    DATABASE_URL: urlOn(primary, database),
    DATABASE_REPLICA_URLS: urls.join(' '),
  });
  try {
    await eventually(async () => (await gateway.client.get('', '/ready')).status === 'ready');
    const token = await gateway.tokenOf(tenantId);
    const { rows: queries } = await database.superuser.query<Query>(QUERIES);
    await warmUp(gateway, token, queries, seconds);
    await gateway.ask();
    const nodes = [primary, ...replicas].map(
      ({ pid }) =>
        () =>
          processorSeconds(pid()),
    );
    const all = [...nodes, gateway.processorTime];
    const before = all.map((time) => time());
    const sample = await closedLoop({ clients: CLIENTS, seconds }, (n) =>
      graphqlSearch(gateway, token, queries[n % queries.length]!.query),
    );
    const used = all.map((time, n) => ((time() - before[n]!) * 1_000) / sample.ms.length);
    mustSucceed(sample, 'searches');
    const records = await gateway.ask<number[]>();
    if (count > 0 && records.length === 0) throw new Error('no search was answered by a replica');
    return { primary: used[0]!, replicas: used.slice(1, -1), gateway: used.at(-1)!, ms: sample.ms, records };
  } finally {
    await gateway.close();
  }
}

/** The rounds of one number of replicas together. */
function together(rounds: readonly Measured[]): Measured {
  const meanOf = (value: (measured: Measured) => number) => mean(rounds.map(value));
  return {
    primary: meanOf(({ primary }) => primary),
    replicas: rounds[0]!.replicas.map((_, n) => meanOf(({ replicas }) => replicas[n]!)),
    gateway: meanOf(({ gateway }) => gateway),
    ms: rounds.flatMap(({ ms }) => ms),
    records: rounds.flatMap(({ records }) => records),
  };
}

function rowsOf(alone: Measured, count: number, found: Measured): Row[] {
  const name = `${count} ${count === 1 ? 'replica' : 'replicas'}`;
  const { primary, replicas, gateway, ms, records } = found;
  const nodes = `replicas ${replicas.map((each) => each.toFixed(1)).join(' and ')} ms, gateway ${gateway.toFixed(1)} (alone ${alone.gateway.toFixed(1)}) ms`;
  const share = (100 * (1 - primary / alone.primary)).toFixed(0);
  return [
    ratio({
      what: `${name}: processor time of a search on the primary`,
      against: 'without replicas',
      ours: primary,
      theirs: alone.primary,
      unit: 'ms',
      goal: { atMost: 0.2 },
      note: `${share} % leave it; ${nodes}; ${records.length} of ${ms.length} searches read there`,
    }),
    ratio({
      what: `${name}: processor time of a search on all servers`,
      against: 'without replicas',
      ours: [primary, ...replicas].reduce((sum, each) => sum + each, 0),
      theirs: [alone.primary, ...alone.replicas].reduce((sum, each) => sum + each, 0),
      unit: 'ms',
    }),
    ratio({
      what: `${name}: the write of the record on the primary, p95`,
      against: 'a search without replicas, p95',
      ours: quantile(records, 0.95),
      theirs: quantile(alone.ms, 0.95),
      unit: 'ms',
      note: `p50 ${quantile(records, 0.5).toFixed(1)} against ${quantile(alone.ms, 0.5).toFixed(1)} ms; a search p95 ${quantile(ms, 0.95).toFixed(1)} ms`,
    }),
  ];
}

async function main() {
  const [rows, seconds, rounds] = [options.rows, options.seconds, options.rounds].map(Number) as [
    number,
    number,
    number,
  ];
  if (options.help || !(rows >= 2_000) || !(seconds > 0) || !(rounds >= 1)) {
    console.log(usage);
    process.exitCode = options.help ? 0 : 2;
    return;
  }
  const place = openWorkplace();
  const report = (line: string) => console.error(line);
  const found = new Map<number, Measured[]>(COUNTS.map((count) => [count, []]));
  try {
    const primary = await startPrimary(place, SETTINGS);
    const database = await openBenchDatabase(primary.url, rows, report);
    const replicas = [
      await startReplica(place, primary, 'first', SETTINGS),
      await startReplica(place, primary, 'second', SETTINGS),
    ];
    const tenant = tenantsFor(rows).find(({ name }) => name === 'two percent')!;
    for (let round = 0; round < rounds; round++)
      for (const count of round % 2 ? COUNTS.toReversed() : COUNTS) {
        const measured = await measure(database, tenant.id, primary, replicas, count, seconds);
        report(`${count} replicas: ${measured.primary.toFixed(2)} ms of the primary a search`);
        found.get(count)!.push(measured);
      }
    await database.close(false);
  } finally {
    await place.close();
  }
  const [alone, ...others] = COUNTS.map((count) => together(found.get(count)!));
  const results = others.flatMap((measured, n) => rowsOf(alone!, COUNTS[n + 1]!, measured));
  console.log(table(results));
  if (results.some(({ isReached }) => isReached === false)) process.exitCode = 1;
}

await main();
