import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { sqlstateOf } from '../errors.ts';

export interface Denial {
  /** Where they knocked: graphql or mcp. */
  door: string;
  /** Why, in our own words. Never the key or the token. */
  reason: string;
  address: string;
  /** Whom a token with a good signature, or a known key, stood for. */
  claimed: { tenantId: string; caller: string } | null;
}

export interface Denials {
  record(denial: Denial): void;
  close(): Promise<void>;
}

const EVERY_MS = 60_000;
// Someone who tries keys from many addresses must not fill the disk.
const MOST_AT_A_TIME = 200;

/**
 * Puts on the record who was turned away before a door. The first of a kind has its row at once; those of the next minute
 * that are alike share one, with their number, so that knocking is no way to flood the record.
 */
export function createDenials({ workerPool }: Database, logger: Logger): Denials {
  const writing = new Set<Promise<void>>();
  let waiting = new Map<string, { denial: Denial; times: number }>();

  const write = ({ door, reason, address, claimed }: Denial, times: number) => {
    const written = workerPool
      .query('select audit.audit_denial($1, $2, $3, $4, $5, $6)', [
        door,
        reason,
        address,
        claimed?.tenantId ?? null,
        claimed?.caller ?? null,
        times,
      ])
      .then(() => {})
      .catch((error: Error) =>
        logger.error({ sqlstate: sqlstateOf(error), door, times }, 'a denial could not be recorded'),
      )
      .finally(() => writing.delete(written));
    writing.add(written);
  };
  const flush = () => {
    const due = waiting;
    waiting = new Map();
    for (const { denial, times } of due.values()) if (times > 0) write(denial, times);
  };
  const timer = setInterval(flush, EVERY_MS).unref();

  return {
    record(denial) {
      const { door, reason, address, claimed } = denial;
      const key = JSON.stringify([door, reason, address, claimed]);
      const known = waiting.get(key);
      if (known) {
        known.times += 1;
      } else if (waiting.size < MOST_AT_A_TIME) {
        waiting.set(key, { denial, times: 0 });
        write(denial, 1);
      } else {
        const others = { denial: { door, reason: 'many others', address: 'various', claimed: null }, times: 0 };
        const counted = waiting.get('others') ?? others;
        counted.times += 1;
        waiting.set('others', counted);
      }
    },
    async close() {
      clearInterval(timer);
      flush();
      await Promise.all(writing);
    },
  };
}
