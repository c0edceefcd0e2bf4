// The cost of running the gateway: start-up time, memory, and embedding speed, with `npm start` and the bundled model on
// a separate database.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, type Context, figure, type Row } from './support/bench.ts';
import { closedLoop, mustSucceed } from './support/load.ts';
import { type RunningGateway, startRealGateway } from './support/real-gateway.ts';
import { memoryText } from './support/texts.ts';
import { atRest, drained, idleSecondsOf, SAVE, SEARCHERS, underLoad, usesOf, withIdleTime } from './support/use.ts';

const SAVERS = 4;

/** Vectors per second while nothing else runs. */
async function backlog(gateway: RunningGateway, memories: number) {
  const saves = await closedLoop({ clients: SAVERS, seconds: 60, atMost: memories }, (n) =>
    gateway.graphql(SAVE, { content: memoryText(n, n % 200) }),
  );
  mustSucceed(saves, 'saves');
  const counted = () => gateway.metric('l9_embedded_vectors_total');
  const from = { vectors: await counted(), at: performance.now() };
  await drained(gateway);
  return ((await counted()) - from.vectors) / ((performance.now() - from.at) / 1_000);
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
