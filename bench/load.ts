// `npm run bench:load`: what many clients at once do to a gateway as `npm start` runs it, on either engine.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureTemplate } from '../gateway/src/server/template.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { figure, type Row, ratio } from './support/bench.ts';
import { quantile } from './support/load.ts';
import { type Calls, type MixedClient, mixedClient, noCalls } from './support/mixed-load.ts';
import { type RunningGateway, startRealGateway } from './support/real-gateway.ts';
import { table } from './support/results.ts';

const usage = `npm run bench:load -- [options]

  --engine E     embedded (unless given), or server: TEST_DATABASE_URL of a superuser
  --clients N,M  how many clients at once, one run for each: 100,300 unless given
  --seconds S    how long each run lasts: 60 unless given

It ends with 1 where a call was answered by anything but its result, 429 or 503, or where a goal was missed.`;

const CALLERS = ['C', 'L'];
const HEALTH_EVERY_MS = 100;
const HEALTH_GOAL_MS = 250;
const FLOODERS = 100;
const KNOCKERS = 5;
// After it the processes have memory for their caches and prepared statements. A run of a second or two needs no more of it.
const MOST_WARM_UP_SECONDS = 5;
const QUIET_PAUSE_MS = 50;

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string', default: 'embedded' },
    clients: { type: 'string', default: '100,300' },
    seconds: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  },
});

/** Watches GET /health and the memory of the process until it is stopped. */
function watch(gateway: RunningGateway) {
  const health: number[] = [];
  let peak = gateway.memory();
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const began = performance.now();
      await fetch(`${gateway.url}/health`, { signal: AbortSignal.timeout(30_000) }).then((answer) => answer.text());
      health.push(performance.now() - began);
      peak = Math.max(peak, gateway.memory());
      await sleep(HEALTH_EVERY_MS);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return { health, peak };
  };
}

/** Each client sends its next call after an answer. */
async function run(clients: readonly MixedClient[], seconds: number, calls: Calls, pauseMs = 0) {
  const end = performance.now() + seconds * 1_000;
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        await client.call(next++, calls);
        if (pauseMs > 0) await sleep(pauseMs);
      }
    }),
  );
}

async function clientsOf(gateway: RunningGateway, number: number, callers = CALLERS) {
  return Promise.all(Array.from({ length: number }, (_, n) => mixedClient(gateway, callers[n % callers.length]!)));
}

const errorsIn = ({ errors }: Calls) => [...errors.values()].reduce((sum, count) => sum + count, 0);

function report(calls: Calls) {
  for (const [reason, count] of [...calls.errors].slice(0, 5)) console.error(`  ${count} × ${reason}`);
}

async function many(gateway: RunningGateway, engine: string, number: number, seconds: number): Promise<Row[]> {
  const before = gateway.memory();
  const clients = await clientsOf(gateway, number);
  const stop = watch(gateway);
  const calls = noCalls();
  await run(clients, seconds, calls);
  const { health, peak } = await stop();
  for (const client of clients) client.close();
  report(calls);
  const name = `${engine} engine, ${number} clients`;
  return [
    figure({
      what: `${name}, errors`,
      ours: errorsIn(calls),
      unit: '',
      goal: { atMost: 0 },
      note: `${calls.shed} shed by 429 or 503`,
    }),
    figure({ what: `${name}, throughput`, ours: calls.ms.length / seconds, unit: 'calls/s' }),
    figure({ what: `${name}, p50`, ours: quantile(calls.ms, 0.5), unit: 'ms' }),
    figure({
      what: `${name}, p95`,
      ours: quantile(calls.ms, 0.95),
      unit: 'ms',
      note: `max ${Math.round(Math.max(...calls.ms))} ms`,
    }),
    figure({ what: `${name}, /health p50`, ours: quantile(health, 0.5), unit: 'ms' }),
    figure({ what: `${name}, /health max`, ours: Math.max(...health), unit: 'ms', goal: { atMost: HEALTH_GOAL_MS } }),
    figure({ what: `${name}, memory at its peak`, against: 'before', ours: peak, theirs: before, unit: 'MB' }),
  ];
}

/** Sends wrong keys and tokens one after the other, and returns how many got something else than 401 and 429. */
async function knock({ url }: RunningGateway, end: number): Promise<number> {
  let others = 0;
  for (let n = 0; performance.now() < end; n++) {
    const headers = { authorization: `Bearer a-wrong-key-${n}`, 'content-type': 'application/json' };
    const path = n % 2 ? '/mcp' : '/graphql';
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: '{}' });
    await answer.text();
    if (answer.status !== 401 && answer.status !== 429) others += 1;
  }
  return others;
}

/** One caller floods GraphQL and MCP, and others knock with wrong keys, while another asks now and then. */
async function flood(gateway: RunningGateway, engine: string, seconds: number): Promise<Row[]> {
  const [quiet] = await clientsOf(gateway, 1, ['L']);
  const flooders = await clientsOf(gateway, FLOODERS, ['C']);
  const [alone, beside, flooded] = [noCalls(), noCalls(), noCalls()];
  await run([quiet!], seconds, alone, QUIET_PAUSE_MS);
  const stop = watch(gateway);
  const end = performance.now() + seconds * 1_000;
  const [wrong] = await Promise.all([
    Promise.all(Array.from({ length: KNOCKERS }, () => knock(gateway, end))),
    run(flooders, seconds, flooded),
    run([quiet!], seconds, beside, QUIET_PAUSE_MS),
  ]);
  const { peak } = await stop();
  for (const client of [quiet!, ...flooders]) client.close();
  for (const calls of [alone, beside, flooded]) report(calls);
  return [
    ratio({
      what: `${engine} engine, one quiet client while another floods, p95`,
      against: 'alone',
      ours: quantile(beside.ms, 0.95),
      theirs: quantile(alone.ms, 0.95),
      unit: 'ms',
      goal: { atMost: 3 },
      note: `${beside.ms.length} and ${alone.ms.length} calls; ${beside.shed} of them shed, ${flooded.shed} of the flood's`,
    }),
    figure({
      what: `${engine} engine, errors of the flood and of the quiet client`,
      ours: errorsIn(alone) + errorsIn(beside) + errorsIn(flooded) + wrong.reduce((sum, n) => sum + n, 0),
      unit: '',
      goal: { atMost: 0 },
    }),
    figure({ what: `${engine} engine, memory during the flood`, ours: peak, unit: 'MB' }),
  ];
}

async function main() {
  const { engine } = options;
  const seconds = Number(options.seconds);
  const numbers = options.clients.split(',').map(Number);
  const isValid = (n: number) => Number.isInteger(n) && n > 0;
  if (options.help || !/^(embedded|server)$/.test(engine) || !(seconds > 0) || !numbers.every(isValid)) {
    console.log(usage);
    process.exitCode = options.help ? 0 : 2;
    return;
  }
  const serverUrl = process.env.TEST_DATABASE_URL;
  if (engine === 'server' && !serverUrl) throw new Error('TEST_DATABASE_URL: the URL of a superuser on a server');
  if (engine === 'embedded') await ensureTemplate();
  const home = await createTestHome(engine === 'server' ? serverUrl! : null);
  const rows: Row[] = [];
  try {
    const gateway = await startRealGateway(home.env);
    try {
      const [warm] = await clientsOf(gateway, 1);
      await run([warm!], Math.min(MOST_WARM_UP_SECONDS, seconds), noCalls());
      warm!.close();
      const add = (step: Row[]) => {
        for (const { what, ours, unit } of step) console.error(`${what}: ${ours.toFixed(1)} ${unit}`);
        rows.push(...step);
      };
      for (const number of numbers) add(await many(gateway, engine, number, seconds));
      add(await flood(gateway, engine, Math.max(seconds / 2, 1)));
    } finally {
      await gateway.stop();
    }
  } finally {
    await home.drop();
  }
  console.log(table(rows));
  if (rows.some(({ isReached }) => isReached === false)) process.exitCode = 1;
}

await main();
