// Saves many memories over the API, and waits until they have vectors.
import { type Client, Refused } from './client.ts';
import { startProgress } from './progress.ts';

const IN_FLIGHT = 4;
const LOOK_EVERY_MS = 1_000;
// An unavailable provider is retried after a pause. Without progress for longer than this, waiting ends.
const STALLED_MS = 180_000;

/** The fields of SaveMemoryInput in GraphQL, or the problem with them. */
export type Candidate = { input: Record<string, unknown> } | { problem: string };
export type Outcome = { status: 'inserted' | 'skipped_dedupe'; packetId: string } | { problem: string };

const SAVE = 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status memory { packetId } } }';
const STATS = 'query ($projectId: String) { getMemoryStats(projectId: $projectId) { embedded awaitingEmbedding } }';

/** Saves items, a few at a time. A refused item is reported and the rest continue; an unavailable server ends the run. */
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

/** Waits until all memories (of the project) have vectors. Returns how many still wait when there is no more progress. */
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
