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
import { memoryText, queryText, TOPICS } from './support/texts.ts';

const SAVERS = 4;
const SEARCHERS = 20;

// Instead of the five minutes after which memory is given back; less in a short run, whose figures say nothing.
const idleSecondsOf = ({ seconds }: Pick<Context, 'seconds'>) => Math.min(10, Math.ceil(2 * seconds));
// Memory is given back again after each idle time, so that it takes two of them where jobs had work in the first.
const IDLE_TIMES = 4;
const MOST_USES = 150;
const START_PAIRS = 5;
const withIdleTime = (env: Record<string, string>, idleSeconds: number) => ({
  ...env,
  IDLE_SECONDS: String(idleSeconds),
});

/** How many saves and searches come before the rest: all of them, unless the steps with load are shorter than 7.5 s. */
const usesOf = ({ seconds }: Pick<Context, 'seconds'>) => Math.min(MOST_USES, Math.ceil(20 * seconds));

/** Saves so many memories and searches as often, half of them by each API. */
async function use(gateway: RunningGateway, uses: number) {
  const save = 'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status } }';
  const search = 'query ($query: String!) { searchMemory(query: $query) { hits { packetId content } } }';
  for (let n = 0; n < uses; n++) {
    const content = `used ${n}: ${memoryText(n, n % TOPICS)}`;
    const query = queryText(n, n % TOPICS);
    if (n % 2 === 0) {
      await gateway.graphql(save, { content });
      await gateway.graphql(search, { query });
    } else {
      await gateway.tool('save_memory', { content, scope: 'global' });
      await gateway.tool('search_memory', { query });
    }
  }
}

/** Memory once it was used, then nothing was asked for a while, and how long the first search after that takes. */
async function atRest(gateway: RunningGateway, uses: number, idleSeconds: number) {
  await use(gateway, uses);
  await drained(gateway);
  await sleep(IDLE_TIMES * idleSeconds * 1_000);
  const memory = gateway.memory();
  const began = performance.now();
  await gateway.tool('search_memory', { query: 'asked after a rest' });
  return { memory, wakeSeconds: (performance.now() - began) / 1_000 };
}

async function drained(gateway: RunningGateway) {
  for (let tries = 0; tries < 6_000 && (await gateway.metric('l9_embedding_backlog')) > 0; tries++) await sleep(100);
  if ((await gateway.metric('l9_embedding_backlog')) > 0) throw new Error('the backlog did not drain');
}

const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Starts of new homes and a later one of each, in turn. */
async function starts() {
  const pairs: { first: number; later: number }[] = [];
  for (let n = 0; n < START_PAIRS; n++) {
    const home = mkdtempSync(join(tmpdir(), 'l9-bench-'));
    const start = async () => {
      const gateway = await startRealGateway({ L9_MEMORY_HOME: home });
      await gateway.stop();
      return gateway.seconds;
    };
    try {
      pairs.push({ first: await start(), later: await start() });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  return { first: middle(pairs.map(({ first }) => first)), later: middle(pairs.map(({ later }) => later)) };
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
  await drained(gateway);
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

/** The most memory that a gateway takes on this database while clients search, its model run by the native runtime. */
async function atWorkWithNativeRuntime(
  env: Record<string, string>,
  context: Pick<Context, 'seconds'>,
): Promise<number> {
  const gateway = await startRealGateway({ ...env, L9_EMBEDDER: 'native' });
  try {
    await use(gateway, usesOf(context));
    await drained(gateway);
    return await underLoad(gateway, context.seconds);
  } finally {
    await gateway.stop();
  }
}

async function onServer({ serverUrl, seconds }: Context): Promise<Row[]> {
  const uses = usesOf({ seconds });
  const home = await createTestHome(serverUrl);
  try {
    const gateway = await startRealGateway(withIdleTime(home.env, idleSecondsOf({ seconds })));
    try {
      await sleep(1_000);
      const started = gateway.memory();
      const vectors = await backlog(gateway, Math.round(seconds * 10));
      const loaded = await underLoad(gateway, seconds);
      const rested = await atRest(gateway, uses, idleSecondsOf({ seconds }));
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
          ours: rested.memory,
          unit: 'MB',
          goal: { atMost: 250 },
          note: `after ${uses} saves and ${uses} searches and the load above; the model is let go`,
        }),
        figure({
          what: 'the first search after that, server engine',
          ours: rested.wakeSeconds,
          unit: 's',
          goal: { atMost: 1.5 },
          note: 'loads the model',
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

async function onEmbedded(context: Context): Promise<Row[]> {
  const uses = usesOf(context);
  // As after an installation.
  await ensureTemplate();
  const { first, later } = await starts();
  const home = mkdtempSync(join(tmpdir(), 'l9-bench-'));
  const nativeHome = mkdtempSync(join(tmpdir(), 'l9-bench-'));
  try {
    const gateway = await startRealGateway(withIdleTime({ L9_MEMORY_HOME: home }, idleSecondsOf(context)));
    await sleep(1_000);
    const started = gateway.memory();
    const rested = await atRest(gateway, uses, idleSecondsOf(context));
    await gateway.stop();
    const native = await atWorkWithNativeRuntime({ L9_MEMORY_HOME: nativeHome }, context);
    return [
      ratio({
        what: 'start-up, embedded engine, the very first',
        against: 'a later one',
        ours: first,
        theirs: later,
        unit: 's',
        goal: { atMost: 1.5 },
        note: `copies the template; medians of ${START_PAIRS} each, in turn`,
      }),
      figure({
        what: 'memory, embedded engine, after the start',
        ours: started,
        unit: 'MB',
        note: 'gateway, PostgreSQL and model in one process',
      }),
      figure({
        what: `memory, embedded engine and native runtime, ${SEARCHERS} clients searching`,
        ours: native,
        unit: 'MB',
        goal: { atMost: 550 },
      }),
      figure({
        what: 'memory, embedded engine, idle',
        ours: rested.memory,
        unit: 'MB',
        goal: { atMost: 450 },
        note: `after ${uses} saves and ${uses} searches; the engine and the model are let go`,
      }),
      figure({
        what: 'the first search after that, embedded engine',
        ours: rested.wakeSeconds,
        unit: 's',
        goal: { atMost: 1.5 },
        note: 'starts the engine and loads the model',
      }),
    ];
  } finally {
    for (const folder of [home, nativeHome]) rmSync(folder, { recursive: true, force: true });
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
