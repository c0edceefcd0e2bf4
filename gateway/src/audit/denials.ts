import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { sqlstateOf } from '../errors.ts';

export interface Denial {
  /** L9AUT, or L9RAT if it came too often. */
  sqlstate: string;
  /** The API that was called: graphql or mcp. */
  api: string;
  /** The reason in our own words, without the key or the token. */
  reason: string;
  address: string;
  /** The caller that a correctly signed token or a known key names; null without one. */
  claimed: { tenantId: string; caller: string } | null;
}

export interface Denials {
  record(denial: Denial): void;
  close(): Promise<void>;
}

const EVERY_MS = 60_000;
// Limits the rows per interval, so that guessing keys from many addresses cannot fill the disk.
const MAX_KINDS = 200;

/**
 * Audits requests that were denied, or came too often, before they reached an API. The first of a kind gets its row at once. Equal ones of the
 * same minute share one row with their count, so that repeated attempts cannot flood the audit log.
 */
export function createDenials({ workerPool }: Database, logger: Logger): Denials {
  const writing = new Set<Promise<void>>();
  let waiting = new Map<string, { denial: Denial; times: number }>();

  const write = ({ sqlstate, api, reason, address, claimed }: Denial, times: number) => {
    const written = workerPool
      .query('select audit.audit_denial($1, $2, $3, $4, $5, $6, $7)', [
        api,
        reason,
        address,
        claimed?.tenantId ?? null,
        claimed?.caller ?? null,
        sqlstate,
        times,
      ])
      .then(() => {})
      .catch((error: Error) =>
        logger.error({ sqlstate: sqlstateOf(error), api, times }, 'could not audit a denied request'),
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
      const { sqlstate, api, reason, address, claimed } = denial;
      const key = JSON.stringify([sqlstate, api, reason, address, claimed]);
      const counted = waiting.get(key);
      if (counted) {
        counted.times += 1;
      } else if (waiting.size < MAX_KINDS) {
        waiting.set(key, { denial, times: 0 });
        write(denial, 1);
      } else {
        const others = waiting.get('others') ?? {
          denial: { sqlstate, api, reason: 'many others', address: 'various', claimed: null },
          times: 0,
        };
        others.times += 1;
        waiting.set('others', others);
      }
    },
    async close() {
      clearInterval(timer);
      flush();
      await Promise.all(writing);
    },
  };
}
