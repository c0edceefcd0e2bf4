// The embedded engine, with `npm start` and the bundled model: start-up time, memory, and what a save and the search after it take.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureTemplate } from '../gateway/src/server/template.ts';
import { readCollection } from './eval/collections.ts';
import { type Bench, type Context, figure, type Row, ratio } from './support/bench.ts';
import { mustSucceed, openLoop, quantile } from './support/load.ts';
import { type RunningGateway, startRealGateway } from './support/real-gateway.ts';
import { memoryText, TOPICS } from './support/texts.ts';
import {
  atRest,
  drained,
  idleSecondsOf,
  SAVE,
  SEARCHERS,
  underLoad,
  use,
  usesOf,
  withIdleTime,
} from './support/use.ts';

const START_PAIRS = 5;
/** More than an agent writes. */
const SAVES_PER_SECOND = 25;
const NOTES_PER_MEMORY = 4;
const MOST_SEARCHES = 30;
const WARM_UP = 10;
const RUNTIMES = ['wasm', 'native'];

const BY_MEANING = `query ($query: String!) {
  searchMemory(query: $query, mode: semantic) { hits { packetId } }
}`;

const inNewHome = async <Result>(work: (home: string) => Promise<Result>): Promise<Result> => {
  const home = mkdtempSync(join(tmpdir(), 'l9-bench-'));
  try {
    return await work(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
};

/** Starts of new homes and a later one of each, in turn: medians, in seconds. */
async function starts() {
  const pairs: { first: number; later: number }[] = [];
  for (let n = 0; n < START_PAIRS; n++) {
    await inNewHome(async (home) => {
      const start = async () => {
        const gateway = await startRealGateway({ L9_MEMORY_HOME: home });
        await gateway.stop();
        return gateway.seconds;
      };
      pairs.push({ first: await start(), later: await start() });
    });
  }
  const median = (which: 'first' | 'later') =>
    quantile(
      pairs.map((pair) => pair[which]),
      0.5,
    );
  return { first: median('first'), later: median('later') };
}

async function startRows(): Promise<Row[]> {
  // As after an installation.
  await ensureTemplate();
  const { first, later } = await starts();
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
      what: 'start-up, embedded engine, a later one',
      ours: later,
      unit: 's',
      goal: { atMost: 3.5 },
      note: 'until /ready answers',
    }),
  ];
}

async function memoryRows(home: string, context: Context): Promise<Row[]> {
  const uses = usesOf(context);
  const env = withIdleTime({ L9_MEMORY_HOME: home }, idleSecondsOf(context));
  const gateway = await startRealGateway(env);
  try {
    await sleep(1_000);
    const started = gateway.memory();
    const rested = await atRest(gateway, uses, idleSecondsOf(context));
    return [
      figure({
        what: 'memory, embedded engine, after the start',
        ours: started,
        unit: 'MB',
        note: 'gateway, PostgreSQL and model in one process',
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
    await gateway.stop();
  }
}

/** The most memory that a gateway takes while clients search, its model run by the native runtime. */
async function atWorkRows(home: string, context: Context): Promise<Row[]> {
  const gateway = await startRealGateway({ L9_MEMORY_HOME: home, L9_EMBEDDER: 'native' });
  try {
    await use(gateway, usesOf(context));
    await drained(gateway);
    return [
      figure({
        what: `memory, embedded engine and native runtime, ${SEARCHERS} clients searching`,
        ours: await underLoad(gateway, context.seconds),
        unit: 'MB',
        goal: { atMost: 550 },
      }),
    ];
  } finally {
    await gateway.stop();
  }
}

/** Saves in quick succession, and searches by meaning for what the same caller saved just before. */
async function saveRows(home: string, runtime: string, { seconds }: Context): Promise<Row[]> {
  const gateway = await startRealGateway({ L9_MEMORY_HOME: home, L9_EMBEDDER: runtime });
  try {
    // The first requests of a process build the GraphQL schema and compile statements.
    await use(gateway, WARM_UP);
    await drained(gateway);
    const searches = await ownNextSearches(gateway, Math.min(MOST_SEARCHES, Math.ceil(10 * seconds)));
    const saves = await openLoop({ rate: SAVES_PER_SECOND, seconds }, (n) =>
      gateway.graphql(SAVE, { content: `saved ${n}: ${memoryText(n, n % TOPICS)}` }),
    );
    mustSucceed(saves, 'saves');
    return [
      figure({
        what: `a save, embedded engine, ${runtime} runtime, p50`,
        ours: quantile(saves.ms, 0.5),
        unit: 'ms',
        goal: { atMost: 25 },
        note: `${saves.ms.length} memories of 1 to 2 kB, one each ${1_000 / SAVES_PER_SECOND} ms; none waits for its vector`,
      }),
      figure({
        what: `the caller's own next search, embedded engine, ${runtime} runtime, p95`,
        ours: quantile(searches, 0.95),
        unit: 'ms',
        goal: { atMost: 300 },
        note: `finds by meaning each of ${searches.length} memories of about 220 characters that were saved just before`,
      }),
    ];
  } finally {
    await gateway.stop();
  }
}

/** How long searches take that find, by meaning alone, a memory of several notes by the first of them. */
async function ownNextSearches(gateway: RunningGateway, count: number): Promise<number[]> {
  const { documents } = readCollection('paraphrases');
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const notes = documents.slice(n * NOTES_PER_MEMORY, (n + 1) * NOTES_PER_MEMORY).map(({ input }) => input.content);
    const { saveMemory } = await gateway.graphql(SAVE, { content: notes.join(' ') });
    const began = performance.now();
    const { searchMemory } = await gateway.graphql(BY_MEANING, { query: notes[0]! });
    times.push(performance.now() - began);
    const { packetId } = saveMemory.memory;
    if (!searchMemory.hits.some((hit: { packetId: string }) => hit.packetId === packetId))
      throw new Error('a search did not find what its caller had saved just before');
  }
  return times;
}

async function run(context: Context): Promise<Row[]> {
  const rows = await startRows();
  rows.push(...(await inNewHome((home) => memoryRows(home, context))));
  rows.push(...(await inNewHome((home) => atWorkRows(home, context))));
  for (const runtime of RUNTIMES) rows.push(...(await inNewHome((home) => saveRows(home, runtime, context))));
  return rows;
}

export const embedded: Bench = {
  name: 'embedded',
  about: 'the embedded engine: start-up time, memory, saves and the search after a save',
  run,
};
