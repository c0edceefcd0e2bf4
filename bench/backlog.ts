// Searches while a backlog of memories is being embedded, against searches while nothing else runs: `npm start` with the
// bundled model, which has one thread for both.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, type Context, type Row, ratio } from './support/bench.ts';
import { closedLoop, mustSucceed, perSecond, quantile } from './support/load.ts';
import { type RunningGateway, startRealGateway } from './support/real-gateway.ts';
import { memoryText, queryText } from './support/texts.ts';

const SAVERS = 8;
// Fewer than the gateway lets wait.
const CROWD = 20;
/** A memory of 4 to 5 kB is embedded whole and in about six chunks. */
const LONG_MEMORIES = 100;
const TEXTS_OF_LONG_MEMORY = 3;
const FIRST_MEMORIES = 30;

const saveText =
  'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status } }';
const searchText = 'query ($query: String!) { searchMemory(query: $query) { hits { packetId } searched { vectors } } }';

async function searches(gateway: RunningGateway, step: string, clients: number, seconds: number) {
  const sample = await closedLoop({ clients, seconds }, async (n) => {
    // No query is asked twice, so that no cache has its vector.
    const query = `${queryText(n, n % 200)} ${step} ${n}`;
    const { searchMemory } = await gateway.graphql(searchText, { query });
    if (searchMemory.searched.vectors !== 'used') throw new Error('a query was not embedded');
  });
  mustSucceed(sample, 'searches');
  return sample;
}

async function save(gateway: RunningGateway, memories: number, contentOf: (n: number) => string) {
  const saves = await closedLoop({ clients: SAVERS, seconds: 600, atMost: memories }, (n) =>
    gateway.graphql(saveText, { content: contentOf(n) }),
  );
  mustSucceed(saves, 'saves');
}

const longText = (n: number) =>
  Array.from({ length: TEXTS_OF_LONG_MEMORY }, (_, part) => memoryText(10_000 + n * 50 + part, n % 200)).join('\n\n');

async function measure(env: Record<string, string>, engine: string, seconds: number): Promise<Row[]> {
  const gateway = await startRealGateway(env);
  const remaining = () => gateway.metric('l9_embedding_backlog');
  const vectors = () => gateway.metric('l9_embedded_vectors_total');
  try {
    await save(gateway, FIRST_MEMORIES, (n) => memoryText(n, n % 200));
    while ((await remaining()) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    await searches(gateway, 'warm up', 1, 2);
    const quiet = await searches(gateway, 'quiet', 1, seconds);
    const quietCrowd = await searches(gateway, 'quiet crowd', CROWD, seconds);

    await save(gateway, LONG_MEMORIES, longText);
    const before = { vectors: await vectors(), at: performance.now() };
    const busy = await searches(gateway, 'busy', 1, seconds);
    const rate = ((await vectors()) - before.vectors) / ((performance.now() - before.at) / 1_000);
    const busyCrowd = await searches(gateway, 'busy crowd', CROWD, seconds);
    if ((await remaining()) === 0) throw new Error('the backlog was embedded before the searches ended');
    const p = ({ ms }: { ms: number[] }, q: number) => quantile(ms, q);
    return [
      ratio({
        what: `search of a new query while a backlog is embedded, ${engine}, one client, p50`,
        against: 'without a backlog',
        ours: p(busy, 0.5),
        theirs: p(quiet, 0.5),
        unit: 'ms',
        goal: { atMost: 1.5 },
        note: `p95 ${p(busy, 0.95).toFixed(0)} against ${p(quiet, 0.95).toFixed(0)} ms; meanwhile ${rate.toFixed(1)} vectors of the backlog a second`,
      }),
      ratio({
        what: `search of a new query while a backlog is embedded, ${engine}, ${CROWD} clients, p95`,
        against: 'without a backlog',
        ours: p(busyCrowd, 0.95),
        theirs: p(quietCrowd, 0.95),
        unit: 'ms',
        note: `${perSecond(busyCrowd).toFixed(0)} against ${perSecond(quietCrowd).toFixed(0)} a second`,
      }),
    ];
  } finally {
    await gateway.stop();
  }
}

export const backlog: Bench = {
  name: 'backlog',
  about: 'searches of new queries while memories are embedded, on both engines, with the bundled model',
  async run({ serverUrl, seconds, stopGateway }: Context) {
    await stopGateway();
    const server = await createTestHome(serverUrl);
    const folder = mkdtempSync(join(tmpdir(), 'l9-bench-'));
    try {
      return [
        ...(await measure(server.env, 'server engine', seconds)),
        ...(await measure({ L9_MEMORY_HOME: folder }, 'embedded engine', seconds)),
      ];
    } finally {
      await server.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
