// `npm run bench`: measures costs as ratios within one run. It needs TEST_DATABASE_URL of a superuser on a PostgreSQL 18
// server with space for the data; it creates its own databases there and drops them.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { archive } from './archive.ts';
import { audit } from './audit.ts';
import { backlog } from './backlog.ts';
import { embedded } from './embedded.ts';
import { find } from './find.ts';
import { graph } from './graph.ts';
import { graphql } from './graphql.ts';
import { mem0 } from './mem0.ts';
import { pointRead } from './point-read.ts';
import { policies } from './policies.ts';
import { recall } from './recall.ts';
import { running } from './running.ts';
import { save } from './save.ts';
import { fewVisible, search } from './search.ts';
import { secrets } from './secrets.ts';
import { store } from './store.ts';
import type { Bench, Context, Query, Row } from './support/bench.ts';
import { openBenchDatabase } from './support/database.ts';
import { type Gateway, startBenchGateway } from './support/gateway.ts';
import { machine, refreshPage, resultsFolder, table, writeResults } from './support/results.ts';
import { tenantsFor } from './support/tenants.ts';
import { words } from './words.ts';

// Saves run last, because the index entries they leave would slow down the other benches.
const benches: readonly Bench[] = [
  words,
  policies,
  graphql,
  pointRead,
  search,
  find,
  fewVisible,
  recall,
  mem0,
  graph,
  running,
  embedded,
  backlog,
  audit,
  archive,
  secrets,
  store,
  save,
];

const usage = `npm run bench -- [options]

  --rows N       memories to load: 100000 unless given; 3000000 take an hour and a half to load on two cores
  --edges N      relations of the entity graph: ten a memory unless given, 1000000 at most
  --only A,B     only these: ${benches.map(({ name }) => name).join(', ')}
  --seconds S    how long a step with load lasts: 8 unless given
  --keep         keep the loaded database for the next run
  --no-peers     nothing that has to be installed first (mem0ai)
  --json FILE    where to write the figures: bench/results/<rows>.json unless given
  --markdown     also write the tables of bench/results/README.md; with --only none it measures nothing

${benches.map(({ name, about }) => `  ${name.padEnd(14)} ${about}`).join('\n')}`;

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    edges: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '8' },
    keep: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: true },
    json: { type: 'string' },
    markdown: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

const began = performance.now();
const report = (line: string) =>
  console.error(`${((performance.now() - began) / 1_000).toFixed(0).padStart(5)} s  ${line}`);

function chosen(): readonly Bench[] {
  if (options.only === undefined) return benches;
  const names = options.only.split(',').filter((name) => name !== 'none');
  const unknown = names.filter((name) => !benches.some((bench) => bench.name === name));
  if (unknown.length > 0) throw new Error(`--only: no bench ${unknown.join(', ')}\n\n${usage}`);
  return benches.filter(({ name }) => names.includes(name));
}

async function main() {
  if (options.help) {
    console.log(usage);
    return;
  }
  const toRun = chosen();
  const rows = Number(options.rows);
  const edges = Number(options.edges ?? Math.min(10 * rows, 1_000_000));
  const seconds = Number(options.seconds);
  if (!Number.isInteger(rows) || rows < 2_000 || !(seconds > 0)) throw new Error(usage);
  if (!Number.isInteger(edges) || edges < 20_000) throw new Error(usage);
  if (toRun.length > 0) await measure(toRun, rows, edges, seconds);
  if (options.markdown) refreshPage();
}

async function measure(toRun: readonly Bench[], rows: number, edges: number, seconds: number) {
  const serverUrl = process.env.TEST_DATABASE_URL;
  if (!serverUrl) throw new Error('TEST_DATABASE_URL: the URL of a superuser on a PostgreSQL 18 server');
  const needsData = toRun.some(({ name }) => !['audit', 'backlog', 'embedded', 'mem0', 'secrets'].includes(name));
  const database = await openBenchDatabase(serverUrl, needsData ? rows : 2_000, report);
  const tenants = tenantsFor(rows);
  let gateway: Gateway | null = null;
  const context: Context = {
    serverUrl,
    rows,
    edges,
    seconds,
    database,
    peers: options.peers,
    report,
    async gateway() {
      gateway ??= await startBenchGateway(database);
      return gateway;
    },
    async stopGateway() {
      await gateway?.close();
      gateway = null;
    },
    tenant: (name) => tenants.find((tenant) => tenant.name === name)!,
    async queries(kind) {
      const { rows } = await database.superuser.query<Query>(
        'select query, vector::text as vector from bench.queries where kind = $1 order by n',
        [kind],
      );
      return rows;
    },
  };
  const { rows: about } = await database.superuser.query<{ version: string; settings: Record<string, string> }>(
    `select current_setting('server_version') as version, jsonb_object_agg(name, current_setting(name)) as settings
     from pg_settings where name in ('shared_buffers', 'work_mem', 'synchronous_commit', 'jit')`,
  );
  const { version, settings } = about[0]!;
  const file = options.json ?? join(resultsFolder, `${rows}.json`);
  const results: Row[] = [];
  const failures: { bench: string; error: string }[] = [];
  try {
    for (const bench of toRun) {
      report(`${bench.name}: ${bench.about}`);
      try {
        results.push(...(await bench.run(context)).map((row) => ({ ...row, bench: bench.name })));
      } catch (error) {
        // The other benches still run.
        failures.push({ bench: bench.name, error: (error as Error).message });
        report(`${bench.name} FAILED: ${(error as Error).stack}`);
      }
      // Results are written after each bench, so that a later failure does not lose them.
      writeResults(file, {
        rows,
        at: new Date().toISOString(),
        machine: machine(version, settings),
        results,
        failures,
      });
    }
    console.log(`\n${table(results)}\n`);
    report(`written to ${file}`);
  } finally {
    await context.stopGateway();
    await database.close(options.keep);
  }
  if (failures.length > 0 || results.some(({ isReached }) => isReached === false)) process.exitCode = 1;
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
