// The cost of running the gateway: start-up time, memory, and embedding speed, with `npm start` and the bundled model on
// separate databases.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureTemplate } from '../gateway/src/server/template.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, type Context, figure, type Row, ratio } from './support/bench.ts';
import { closedLoop, mustSucceed } from './support/load.ts';
import { type RunningGateway, startRealGateway } from './support/real-gateway.ts';
import { memoryText, queryText } from './support/texts.ts';

const SAVERS = 4;
const SEARCHERS = 20;

// Instead of the five minutes after which memory is given back.
const IDLE_SECONDS = 10;
const withIdleTime = (env: Record<string, string>) => ({ ...env, IDLE_SECONDS: String(IDLE_SECONDS) });

/** Memory once nothing was asked for a while. */
async function atRest(gateway: RunningGateway): Promise<number> {
  await sleep(3 * IDLE_SECONDS * 1_000);
  return gateway.memory();
}

/** Vectors per second while nothing else runs. */
async function backlog(gateway: RunningGateway, memories: number) {
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

async function underLoad(gateway: RunningGateway, seconds: number) {
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
    const gateway = await startRealGateway(withIdleTime(home.env));
    try {
      await sleep(1_000);
      const started = gateway.memory();
      const vectors = await backlog(gateway, Math.round(seconds * 10));
      const loaded = await underLoad(gateway, seconds);
      const rested = await atRest(gateway);
      return [
        figure({
          what: 'start-up, server engine, the first on a migrated database',
          ours: gateway.seconds,
          unit: 's',
          note: 'including the model; creates the tables of the job queue',
        }),
        figure({
          what: 'memory of the gateway, server engine, after the start',
          ours: started,
          unit: 'MB',
          note: 'including the model',
        }),
        figure({
          what: `memory of the gateway, server engine, ${SEARCHERS} clients searching`,
          ours: loaded,
          unit: 'MB',
        }),
        figure({
          what: 'memory of the gateway, server engine, idle',
          ours: rested,
          unit: 'MB',
          goal: { atMost: 250 },
          note: 'the model is let go',
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
  // As after an installation.
  await ensureTemplate();
  const home = mkdtempSync(join(tmpdir(), 'l9-bench-'));
  try {
    const first = await startRealGateway({ L9_MEMORY_HOME: home });
    await first.stop();
    const later = await startRealGateway(withIdleTime({ L9_MEMORY_HOME: home }));
    await sleep(1_000);
    const started = later.memory();
    const rested = await atRest(later);
    await later.stop();
    return [
      ratio({
        what: 'start-up, embedded engine, the very first',
        against: 'a later one',
        ours: first.seconds,
        theirs: later.seconds,
        unit: 's',
        goal: { atMost: 1.5 },
        note: 'copies the template',
      }),
      figure({
        what: 'memory, embedded engine, after the start',
        ours: started,
        unit: 'MB',
        note: 'gateway, PostgreSQL and model in one process',
      }),
      figure({
        what: 'memory, embedded engine, idle',
        ours: rested,
        unit: 'MB',
        goal: { atMost: 450 },
        note: 'the model is let go',
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
