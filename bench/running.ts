// The cost of running the gateway: start-up time, memory, and embedding speed, with `npm start` and the bundled model on
// separate databases.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signToken } from '../gateway/src/auth/jwt.ts';
import { loadConfig } from '../gateway/src/config.ts';
import { loadCredentials } from '../gateway/src/home/credentials.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, type Context, figure, type Row } from './support/bench.ts';
import { residentMegabytes } from './support/child.ts';
import { httpClient } from './support/http.ts';
import { closedLoop, mustSucceed } from './support/load.ts';
import { memoryText, queryText } from './support/texts.ts';

const SAVERS = 4;
const SEARCHERS = 20;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs `npm start` with this environment until /ready succeeds. */
async function start(env: Record<string, string>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const whole = { PATH: process.env.PATH!, HOME: process.env.HOME!, PORT: String(port), ...env };
  const began = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'gateway', 'src', 'main.ts')], {
    env: whole,
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const isReady = () =>
    fetch(`${url}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`);
    await sleep(20);
  }
  const seconds = (performance.now() - began) / 1_000;
  const client = httpClient(url);
  const config = loadConfig(whole);
  const token = await signToken(config, loadCredentials(config), { caller: 'C', expires: '1h' });
  return {
    seconds,
    memory: () => residentMegabytes(child.pid!),
    graphql: (query: string, variables: object = {}) => client.graphql(token, query, variables),
    metric: async (name: string) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    async stop() {
      client.close();
      child.kill('SIGTERM');
      await exited;
    },
  };
}

type Running = Awaited<ReturnType<typeof start>>;

/** Vectors per second while nothing else runs. */
async function backlog(gateway: Running, memories: number) {
  const text = 'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status } }';
  const saves = await closedLoop({ clients: SAVERS, seconds: 60, atMost: memories }, (n) =>
    gateway.graphql(text, { content: memoryText(n, n % 200) }),
  );
  mustSucceed(saves, 'saves');
  const counted = () => gateway.metric('l9_embedded_vectors_total');
  const from = { vectors: await counted(), at: performance.now() };
  for (let tries = 0; tries < 6_000 && (await gateway.metric('l9_embedding_backlog')) > 0; tries++) await sleep(100);
  if ((await gateway.metric('l9_embedding_backlog')) > 0) throw new Error('the backlog did not drain');
  return ((await counted()) - from.vectors) / ((performance.now() - from.at) / 1_000);
}

async function underLoad(gateway: Running, seconds: number) {
  const peak = { memory: 0 };
  const watch = setInterval(() => {
    peak.memory = Math.max(peak.memory, gateway.memory());
  }, 100);
  const text = 'query ($query: String!) { searchMemory(query: $query) { hits { packetId content } } }';
  const searches = await closedLoop({ clients: SEARCHERS, seconds }, (n) =>
    gateway.graphql(text, { query: queryText(n % 200, n % 200) }),
  );
  clearInterval(watch);
  mustSucceed(searches, 'searches');
  return Math.max(peak.memory, gateway.memory());
}

async function onServer({ serverUrl, seconds }: Context): Promise<Row[]> {
  const home = await createTestHome(serverUrl);
  try {
    const gateway = await start(home.env);
    try {
      await sleep(1_000);
      const idle = gateway.memory();
      const vectors = await backlog(gateway, Math.round(seconds * 10));
      const loaded = await underLoad(gateway, seconds);
      return [
        figure({
          what: 'start-up, server engine, the first on a migrated database',
          ours: gateway.seconds,
          unit: 's',
          note: 'including the model; creates the tables of the job queue',
        }),
        figure({
          what: 'memory of the gateway, server engine, idle',
          ours: idle,
          unit: 'MB',
          note: 'including the model',
        }),
        figure({
          what: `memory of the gateway, server engine, ${SEARCHERS} clients searching`,
          ours: loaded,
          unit: 'MB',
        }),
        figure({
          what: 'embedding backlog, memories of 1 to 2 kB, whole and in chunks',
          ours: vectors,
          unit: 'vectors/s',
          note: 'the bundled model, one thread',
        }),
      ];
    } finally {
      await gateway.stop();
    }
  } finally {
    await home.drop();
  }
}

async function onEmbedded(): Promise<Row[]> {
  const home = mkdtempSync(join(tmpdir(), 'l9-bench-'));
  try {
    const first = await start({ L9_MEMORY_HOME: home });
    await first.stop();
    const later = await start({ L9_MEMORY_HOME: home });
    await sleep(1_000);
    const idle = later.memory();
    await later.stop();
    return [
      figure({
        what: 'start-up, embedded engine, the very first',
        ours: first.seconds,
        unit: 's',
        note: 'initdb, migrations',
      }),
      figure({ what: 'start-up, embedded engine, later', ours: later.seconds, unit: 's' }),
      figure({
        what: 'memory, embedded engine, idle',
        ours: idle,
        unit: 'MB',
        note: 'gateway, PostgreSQL and model in one process',
      }),
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export const running: Bench = {
  name: 'running',
  about: 'the gateway on a server: start-up time, memory, and how fast the backlog of embeddings drains',
  async run(context) {
    // This uses the large database of the other benches, because a start checks it.
    await context.stopGateway();
    const gateway = await context.gateway();
    const large = figure({
      what: `start-up, server engine, ${context.rows.toLocaleString('en')} memories`,
      ours: gateway.startSeconds,
      unit: 's',
      note: 'without the model',
    });
    await context.stopGateway();
    return [...(await onServer(context)), large];
  },
};

export const embedded: Bench = {
  name: 'embedded',
  about: 'the embedded engine: start-up time and memory',
  run: onEmbedded,
};
