// Saving many memories over the API, and waiting until they can be found by meaning.
import { type Client, Refused } from './client.ts';
import { startProgress } from './progress.ts';

const IN_FLIGHT = 4;
const LOOK_EVERY_MS = 1_000;
// A provider that is down is asked again after a while; longer than this without a step is worth telling.
const STALLED_MS = 180_000;

/** The fields of GraphQL's SaveMemoryInput, or why there are none. */
export type Candidate = { input: Record<string, unknown> } | { problem: string };
export type Outcome = { status: 'inserted' | 'skipped_dedupe'; packetId: string } | { problem: string };

const SAVE = 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status memory { packetId } } }';
const STATS = 'query ($projectId: String) { getMemoryStats(projectId: $projectId) { embedded awaitingEmbedding } }';

/** Saves what comes, a few at a time. What is refused is told and does not stop the rest; a server that is gone does. */
export async function saveAll<C extends Candidate>(
  client: Client,
  candidates: AsyncIterable<C> | Iterable<C>,
  tell: (candidate: C, outcome: Outcome) => void,
): Promise<void> {
  const shared = (async function* () {
    yield* candidates;
  })();
  let isStopped = false;
  const work = async () => {
    for (let next = await shared.next(); !next.done && !isStopped; next = await shared.next()) {
      tell(next.value, 'problem' in next.value ? next.value : await save(client, next.value.input));
    }
  };
  const stop = (error: unknown) => {
    isStopped = true;
    throw error;
  };
  const workers = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, () => work().catch(stop)));
  const failed = workers.find((worker) => worker.status === 'rejected');
  if (failed) throw failed.reason;
}

async function save(client: Client, input: Record<string, unknown>): Promise<Outcome> {
  try {
    const { saveMemory } = await client.request<{
      saveMemory: { status: 'inserted' | 'skipped_dedupe'; memory: { packetId: string } };
    }>(SAVE, { input });
    return { status: saveMemory.status, packetId: saveMemory.memory.packetId };
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message };
    throw error;
  }
}

/** Waits until no memory (of the project) waits for its vectors; returns how many still do when nothing moves any more. */
export async function waitForEmbeddings(client: Client, projectId: string | null): Promise<number> {
  const look = async () => {
    const { getMemoryStats } = await client.request<{
      getMemoryStats: { embedded: number; awaitingEmbedding: number };
    }>(STATS, { projectId });
    return getMemoryStats;
  };
  let stats = await look();
  const before = stats.embedded;
  const progress = startProgress('embedding', stats.awaitingEmbedding);
  let moved = Date.now();
  while (stats.awaitingEmbedding > 0 && Date.now() - moved < STALLED_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const now = await look();
    if (now.embedded !== stats.embedded) moved = Date.now();
    stats = now;
    progress.update(stats.embedded - before, `${stats.awaitingEmbedding} to go`);
  }
  progress.stop();
  return stats.awaitingEmbedding;
}
