// `npm run bench:move`: how long a tenant is stopped while it moves between the databases of two servers, which the bench starts
// itself (`.ci/cluster install`). It moves there without writers, and back while a gateway saves memories of it.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPrimary } from '../cluster/support/postgres.ts';
import { openWorkplace, type Workplace } from '../cluster/support/programs.ts';
import { newPool } from '../db/tests/support/migrations.ts';
import { nameOf } from '../gateway/tests/commands/support/tenants.ts';
import { runCommand } from '../gateway/tests/support/command.ts';
import { createNamedHome } from '../gateway/tests/support/home.ts';
import { figure, type Row } from './support/bench.ts';
import { DIMENSIONS, dropIndexes, isNoGraph, MODEL } from './support/data.ts';
import { type BenchDatabase, openBenchDatabase } from './support/database.ts';
import { startBenchGateway } from './support/gateway.ts';
import { table } from './support/results.ts';
import { tenantsFor } from './support/tenants.ts';

const usage = `npm run bench:move -- [options]

  --rows N          memories of the tenant: 100000 unless given
  --rate R          memories that are saved a second while it moves back: 20 unless given
  --without-graphs  without the HNSW indexes of the vectors, which take most of the time of the copy

It ends with 1 where a goal is missed.`;

const SETTINGS = { shared_buffers: '1GB', fsync: 'on', max_wal_size: '4GB' };
const SAVE =
  'mutation ($content: String!) { saveMemory(input: { content: $content, projectId: "project-1" }) { status } }';
const GOAL_SECONDS = 5;

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rate: { type: 'string', default: '20' },
    'without-graphs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** The tenant that moves, which shares its database with others, as in all benches. */
const movingOf = (rows: number) => tenantsFor(rows).find(({ name }) => name === 'sixty percent')!;

/** How many memories a database has in which this tenant has so many. */
function rowsFor(memories: number): number {
  let rows = memories;
  while (movingOf(rows).total < memories) rows += Math.max(1, Math.floor(memories / 1_000));
  return rows;
}

type Place = Pick<BenchDatabase, 'home' | 'superuser'>;

/** A database without tenants of the bench, which has the model of their vectors. */
async function openTarget(url: string, memories: number, hasGraphs: boolean): Promise<Place> {
  const home = await createNamedHome(url, 'l9_bench_move', `for ${memories}`);
  const superuser = newPool({ connectionString: home.superuserUrl!, max: 1 });
  await superuser.query('select embeddings.adopt_embedding_model($1, $2)', [MODEL, DIMENSIONS]);
  if (!hasGraphs) {
    const client = await superuser.connect();
    const dropped = await dropIndexes(client, ['public.memory_embeddings']);
    for (const { definition } of dropped.filter(isNoGraph)) await client.query(definition);
    client.release();
  }
  return { home, superuser };
}

interface Moved {
  seconds: number;
  copiedRows: number;
  changedRows: number;
  stopSeconds: number;
  /** How long each step of the stop took. */
  steps: string;
}

/** Runs the command in a process of its own, and reads what it says. */
async function move(
  tenantId: string,
  { home: from }: Place,
  { home: to }: Place,
  report: (line: string) => void,
): Promise<Moved> {
  const start = performance.now();
  const { code, err } = await runCommand(['tenant', 'move', tenantId, '--database', nameOf(from)], {
    home: from.home,
    env: { ROOT_DATABASE_URL: from.superuserUrl!, TARGET_DATABASE_URL: to.superuserUrl! },
  });
  report(err.trimEnd());
  const copied = /(\d+) rows are in /.exec(err);
  const stopped = /(\d+) rows that had changed came after; .* was stopped for (\d+) ms \((.*)\)/.exec(err);
  if (code !== 0 || !copied || !stopped) throw new Error(`the command ended with ${code}`);
  return {
    seconds: (performance.now() - start) / 1_000,
    copiedRows: Number(copied[1]),
    changedRows: Number(stopped[1]),
    stopSeconds: Number(stopped[2]) / 1_000,
    steps: stopped[3]!,
  };
}

const memoriesIn = async ({ superuser }: Place, tenantId: string): Promise<number> =>
  Number(
    (await superuser.query('select count(*) from public.packet_store where tenant_id = $1', [tenantId])).rows[0].count,
  );

/** Saves at this rate until it is told to end, whatever comes of it. Returns how many saves were acknowledged. */
function startWriting(save: (n: number) => Promise<unknown>, rate: number) {
  let saved = 0;
  let isOver = false;
  const writing = (async () => {
    const start = performance.now();
    const running: Promise<void>[] = [];
    for (let n = 0; !isOver; n++) {
      await sleep(Math.max(0, start + (n * 1_000) / rate - performance.now()));
      running.push(
        save(n).then(
          () => {
            saved += 1;
          },
          () => {},
        ),
      );
    }
    await Promise.all(running);
  })();
  return {
    saved: () => saved,
    async end(): Promise<number> {
      isOver = true;
      await writing;
      return saved;
    },
  };
}

const rowsOf = (how: string, memories: number, { seconds, copiedRows, changedRows, stopSeconds, steps }: Moved) => [
  figure({
    what: `${how}: the stop of a tenant of ${memories.toLocaleString('en')} memories`,
    ours: stopSeconds,
    unit: 's',
    goal: { atMost: GOAL_SECONDS },
    note: `${steps}; ${changedRows.toLocaleString('en')} rows had changed`,
  }),
  figure({
    what: `${how}: the whole move`,
    ours: seconds,
    unit: 's',
    note: `${copiedRows.toLocaleString('en')} rows copied before the stop`,
  }),
];

async function measure(place: Workplace, memories: number, rate: number, hasGraphs: boolean): Promise<Row[]> {
  const report = (line: string) => console.error(line);
  const rows = rowsFor(memories);
  const tenant = movingOf(rows);
  const here = await startPrimary(place, SETTINGS, 'here');
  const there = await startPrimary(place, SETTINGS, 'there');
  const database = await openBenchDatabase(here.url, rows, report, hasGraphs);
  const other = await openTarget(there.url, memories, hasGraphs);
  const before = await memoriesIn(database, tenant.id);
  const quiet = await move(tenant.id, database, other, report);
  const gateway = await startBenchGateway(database, { DATABASE_URL: other.home.env.DATABASE_URL! });
  try {
    const token = await gateway.tokenOf(tenant.id);
    const writer = startWriting(
      (n) => gateway.client.graphql(token, SAVE, { content: `Note ${n} was taken while the tenant moved.` }),
      rate,
    );
    while (writer.saved() === 0) await sleep(50);
    const busy = await move(tenant.id, other, database, report);
    const saved = await writer.end();
    const after = await memoriesIn(database, tenant.id);
    if (after !== before + saved)
      throw new Error(`${before} memories were there and ${saved} were saved, but ${after} have arrived`);
    report(`${saved} saves were acknowledged, and all of them have arrived`);
    return [...rowsOf('without writers', before, quiet), ...rowsOf(`with ${rate} saves a second`, before, busy)];
  } finally {
    await gateway.close();
    await Promise.all([database.superuser.end(), other.superuser.end()]);
  }
}

async function main() {
  const [memories, rate] = [Number(options.rows), Number(options.rate)];
  if (options.help || !(memories >= 1_000) || !(rate > 0)) {
    console.log(usage);
    process.exitCode = options.help ? 0 : 2;
    return;
  }
  const place = openWorkplace();
  try {
    const results = await measure(place, memories, rate, !options['without-graphs']);
    console.log(table(results));
    if (results.some(({ isReached }) => isReached === false)) process.exitCode = 1;
  } finally {
    await place.close();
  }
}

await main();
