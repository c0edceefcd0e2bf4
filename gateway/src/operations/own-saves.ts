// A caller's next search is to find by meaning what the caller has just saved. The save did not wait for its vectors, so the search
// does, for a moment.
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { clientOf, type Identity, toSettings } from '../auth/identity.ts';
import { type Database, inOneTrip } from '../database/index.ts';

const WAIT_MS = 300;
const ASK_EVERY_MS = 20;
const REMEMBER_MS = 10_000;
const MAX_CLIENTS = 2_000;
/** Of a larger batch a search waits for the last ones only. */
const MAX_SAVES = 16;

export type OwnSaves = ReturnType<typeof createOwnSaves>;

export function createOwnSaves(database: Pick<Database, 'pool' | 'replicas'>) {
  const saves = new LRUCache<string, readonly string[]>({ max: MAX_CLIENTS, ttl: REMEMBER_MS });

  /** The queue says so, since another gateway may store the vectors. */
  async function areWaiting(identity: Identity, toolName: string, ids: readonly string[]) {
    const { rows } = await inOneTrip(database.pool, toSettings(identity, toolName), 'read', (client) =>
      client.query<{ waiting: string }>('select embeddings.count_waiting($1) as waiting', [ids]),
    );
    return Number(rows[0]!.waiting) > 0;
  }

  return {
    /** Notes that this caller has saved these memories. */
    note(identity: Identity, ids: readonly string[]): void {
      if (ids.length === 0) return;
      const client = clientOf(identity);
      saves.set(client, [...(saves.get(client) ?? []), ...ids].slice(-MAX_SAVES));
    },
    /** Resolves once they have their vectors, or when that takes too long; a later search does not wait for them again. */
    async embedded(identity: Identity, toolName: string): Promise<void> {
      const client = clientOf(identity);
      const ids = saves.get(client);
      if (!ids) return;
      const until = performance.now() + WAIT_MS;
      try {
        while ((await areWaiting(identity, toolName, ids)) && performance.now() < until) await sleep(ASK_EVERY_MS);
        // Another connection stored them.
        await database.replicas?.requirePresent();
      } catch {
        // The search itself says what is wrong with the caller or the database.
      }
      if (saves.peek(client) === ids) saves.delete(client);
    },
  };
}

/** The memories that a call has saved or changed, whose texts may have to be embedded. */
export function savedIn(output: unknown): string[] {
  const { memory, stored, status } = output as {
    memory?: { packet_id?: unknown } | null;
    stored?: readonly { packet_id?: unknown; status?: unknown }[];
    status?: unknown;
  };
  const items = Array.isArray(stored) ? stored : [{ packet_id: memory?.packet_id, status }];
  return items.flatMap(({ packet_id, status }) =>
    typeof packet_id === 'string' && status !== 'skipped_dedupe' ? [packet_id] : [],
  );
}
