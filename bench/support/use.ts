// How the benches use a gateway before they look at its memory.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from './bench.ts';
import { closedLoop, mustSucceed } from './load.ts';
import type { RunningGateway } from './real-gateway.ts';
import { memoryText, queryText, TOPICS } from './texts.ts';

export const SEARCHERS = 20;

export const SAVE =
  'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status memory { packetId } } }';

// Instead of the five minutes after which memory is given back; less in a short run, whose figures say nothing.
export const idleSecondsOf = ({ seconds }: Pick<Context, 'seconds'>) => Math.min(10, Math.ceil(2 * seconds));
// Memory is given back again after each idle time, so that it takes two of them where jobs had work in the first.
const IDLE_TIMES = 4;
const MOST_USES = 150;
export const withIdleTime = (env: Record<string, string>, idleSeconds: number) => ({
  ...env,
  IDLE_SECONDS: String(idleSeconds),
});

/** How many saves and searches come before the rest: all of them, unless the steps with load are shorter than 7.5 s. */
export const usesOf = ({ seconds }: Pick<Context, 'seconds'>) => Math.min(MOST_USES, Math.ceil(20 * seconds));

/** Saves so many memories and searches as often, half of them by each API. */
export async function use(gateway: RunningGateway, uses: number) {
  const search = 'query ($query: String!) { searchMemory(query: $query) { hits { packetId content } } }';
  for (let n = 0; n < uses; n++) {
    const content = `used ${n}: ${memoryText(n, n % TOPICS)}`;
    const query = queryText(n, n % TOPICS);
    if (n % 2 === 0) {
      await gateway.graphql(SAVE, { content });
      await gateway.graphql(search, { query });
    } else {
      await gateway.tool('save_memory', { content, scope: 'global' });
      await gateway.tool('search_memory', { query });
    }
  }
}

/** Memory once it was used, then nothing was asked for a while, and how long the first search after that takes. */
export async function atRest(gateway: RunningGateway, uses: number, idleSeconds: number) {
  await use(gateway, uses);
  await drained(gateway);
  await sleep(IDLE_TIMES * idleSeconds * 1_000);
  const memory = gateway.memory();
  const began = performance.now();
  await gateway.tool('search_memory', { query: 'asked after a rest' });
  return { memory, wakeSeconds: (performance.now() - began) / 1_000 };
}

export async function drained(gateway: RunningGateway) {
  for (let tries = 0; tries < 6_000 && (await gateway.metric('l9_embedding_backlog')) > 0; tries++) await sleep(100);
  if ((await gateway.metric('l9_embedding_backlog')) > 0) throw new Error('the backlog did not drain');
}

export async function underLoad(gateway: RunningGateway, seconds: number) {
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
