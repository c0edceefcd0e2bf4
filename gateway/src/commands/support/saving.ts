// Saves many memories over the API, and waits until they have vectors.
import { type Client, Refused } from './client.ts';
import { isFromEarlierRun, threadOf } from './event-order.ts';
import { startProgress } from './progress.ts';

const IN_FLIGHT = 4;
// About so many short items, or fewer long ones, are read ahead, so that other threads go on while one waits.
const READ_AHEAD = 200;
const SHORT_CHARACTERS = 100_000;
const LOOK_EVERY_MS = 1_000;
// An unavailable provider is retried after a pause. Without progress for longer than this, waiting ends.
const STALLED_MS = 180_000;

/** The fields of SaveMemoryInput in GraphQL, or the problem with them. */
export type Candidate = { input: Record<string, unknown> } | { problem: string };
export type Outcome =
  | { status: 'inserted' | 'skipped_dedupe'; packetId: string; notice: string | null }
  | { problem: string };

const SAVE =
  'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status notice memory { packetId traceId } } }';
const STATS = 'query ($projectId: String) { getMemoryStats(projectId: $projectId) { embedded awaitingEmbedding } }';

/**
 * Saves items, a few at a time, those of one thread one after the other. A refused item is reported and the rest continue; an
 * unavailable server ends the run.
 */
export async function saveAll<C extends Candidate>(
  client: Client,
  candidates: AsyncIterable<C> | Iterable<C>,
  tell: (candidate: C, outcome: Outcome) => void,
): Promise<void> {
  const ready: C[] = [];
  // The items that wait for the one before them in their thread. A thread stands here while one of its items is ready or running.
  const waiting = new Map<string, C[]>();
  const running = new Set<Promise<void>>();
  let held = 0;
  let failure: { reason: unknown } | null = null;

  const work = async (candidate: C) => {
    tell(candidate, 'problem' in candidate ? candidate : await save(client, candidate.input));
    held -= weightOf(candidate);
    const thread = threadOfCandidate(candidate);
    if (thread === null) return;
    const next = waiting.get(thread)?.shift();
    if (next) ready.unshift(next);
    else waiting.delete(thread);
  };
  const start = () => {
    while (!failure && running.size < IN_FLIGHT && ready.length > 0) {
      const task: Promise<void> = work(ready.shift()!)
        .catch((reason: unknown) => {
          failure ??= { reason };
        })
        .finally(() => {
          running.delete(task);
          start();
        });
      running.add(task);
    }
  };

  for await (const candidate of candidates) {
    const thread = threadOfCandidate(candidate);
    const queue = thread === null ? undefined : waiting.get(thread);
    held += weightOf(candidate);
    if (queue) queue.push(candidate);
    else {
      if (thread !== null) waiting.set(thread, []);
      ready.push(candidate);
    }
    start();
    while (held >= READ_AHEAD && running.size > 0) await Promise.race(running);
    if (failure) break;
  }
  while (running.size > 0) await Promise.race(running);
  if (failure) throw (failure as { reason: unknown }).reason;
}

const weightOf = (candidate: Candidate) =>
  'input' in candidate ? 1 + Math.floor(String(candidate.input.content).length / SHORT_CHARACTERS) : 1;
const threadOfCandidate = (candidate: Candidate) => ('input' in candidate ? threadOf(candidate.input) : null);

async function save(client: Client, input: Record<string, unknown>): Promise<Outcome> {
  try {
    const { saveMemory } = await client.request<{
      saveMemory: {
        status: 'inserted' | 'skipped_dedupe';
        notice: string | null;
        memory: { packetId: string; traceId: string | null };
      };
    }>(SAVE, { input });
    const { notice, memory } = saveMemory;
    const status = isFromEarlierRun(input, memory.traceId) ? 'skipped_dedupe' : saveMemory.status;
    return { status, packetId: memory.packetId, notice };
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
