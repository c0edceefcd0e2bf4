// Under which name a caller writes, so that the text of an answer names the writers of all lines but its own.
import { LRUCache } from 'lru-cache';
import type { Identity } from '../auth/identity.ts';
import type { FairPool } from '../database/fair-pool.ts';
import { inOneTrip, type Settings } from '../database/index.ts';
import type { Reader } from './standing.ts';

const KNOWN_CALLERS = 10_000;

/** The creator of an actor never changes, so it is asked for once. */
export function createReaders(pool: FairPool): (identity: Identity, settings: Settings) => Promise<Reader> {
  const known = new LRUCache<string, string>({ max: KNOWN_CALLERS });
  return async ({ tenantId, caller }, settings) => {
    const key = `${tenantId} ${caller}`;
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    try {
      const { rows } = await inOneTrip(pool, settings, 'read', (client) =>
        client.query<{ creator: string | null }>('select identity.current_creator() as creator'),
      );
      const creator = rows[0]?.creator ?? null;
      if (creator !== null) known.set(key, creator);
      return creator;
    } catch {
      // The answer is there: it names every writer.
      return null;
    }
  };
}
