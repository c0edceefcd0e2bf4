import type { Logger } from 'pino';
import { isOutage, sqlstateOf } from '../base/errors.ts';
import { asOutage } from '../database/away.ts';
import type { Database } from '../database/index.ts';
import { createRepeats } from './repeats.ts';

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

export type Denials = ReturnType<typeof createDenials>;

// Limits the rows per minute, so that guessing keys from many addresses cannot fill the disk.
const MAX_KINDS = 200;

/**
 * Audits requests that were denied, or came too often, before they reached an API. The first of a kind gets its row at once. Equal ones of the
 * same minute share one row with their count, so that repeated attempts cannot flood the audit log.
 */
export function createDenials({ workerPool }: Database, logger: Logger) {
  const onLost = ({ sqlstate, api }: Denial, times: number, error: unknown) =>
    logger.error({ sqlstate: sqlstateOf(error), denial: sqlstate, api, times }, 'could not audit a denied request');
  const repeats = createRepeats<Denial>({
    kindOf: ({ sqlstate, api, reason, address, claimed }) => JSON.stringify([sqlstate, api, reason, address, claimed]),
    groupOf: () => 'all',
    others: ({ sqlstate, api }) => ({ sqlstate, api, reason: 'many others', address: 'various', claimed: null }),
    async write({ sqlstate, api, reason, address, claimed }, times) {
      await workerPool.query('select audit.audit_denial($1, $2, $3, $4, $5, $6, $7)', [
        api,
        reason,
        address,
        claimed?.tenantId ?? null,
        claimed?.caller ?? null,
        sqlstate,
        times,
      ]);
    },
    isTemporary: (error) => isOutage(sqlstateOf(asOutage(error))),
    onLost,
    first: 1,
    maxRows: MAX_KINDS,
    maxKinds: MAX_KINDS,
  });
  return {
    record: (denial: Denial): void => void repeats.add(denial).catch((error: unknown) => onLost(denial, 1, error)),
    close: repeats.close,
  };
}
