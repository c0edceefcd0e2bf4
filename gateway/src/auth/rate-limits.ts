// Counts the calls of each key and tenant, and the wrong keys and tokens of each address, and refuses those beyond the limits.
import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { KnownError } from '../base/errors.ts';
import type { WorkerPool } from '../database/index.ts';
import { clientOf, type Identity } from './identity.ts';

const PERIOD_SECONDS = 60;
const CLEAR_EVERY_MS = 5 * 60_000;
const WRONG_MONITOR_KEYS = 'wrong_monitor_keys';

export type CallKind = 'reads' | 'writes';

/** How many calls a minute are admitted. */
export type CallLimits = Readonly<Record<CallKind, number>>;

export type RateLimits = ReturnType<typeof createRateLimits>;

export interface RateLimitsOptions {
  limitsOf(identity: Identity): { key: CallLimits; tenant: CallLimits };
  wrongKeysPerMinute: number;
  /** Where several gateways count together, and what removes old counts there; null: each counts for itself. */
  store: { counts: WorkerPool; cleaner: WorkerPool } | null;
  /** Called for each refusal with the name of the limit. */
  onLimited: (limit: string) => void;
}

export function createRateLimits({ limitsOf, wrongKeysPerMinute, store, onLimited }: RateLimitsOptions) {
  const limiters = new Map<string, RateLimiterAbstract>();
  const limiterOf = (limit: string, points: number) => {
    const name = `${limit} ${points}`;
    const known =
      limiters.get(name) ?? createLimiter(limit, points, limit === WRONG_MONITOR_KEYS ? null : store?.counts);
    limiters.set(name, known);
    return known;
  };

  async function consume(limit: string, points: number, subject: string, calls: number, what: string) {
    try {
      await limiterOf(limit, points).consume(hashOf(subject), calls);
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) throw reason;
      onLimited(limit);
      const seconds = Math.max(1, Math.ceil(reason.msBeforeNext / 1_000));
      throw new KnownError('L9RAT', `at most ${points} ${what}`, null, `Try again in ${seconds} s.`).after(seconds);
    }
  }

  const countAttempts = (limit: string) => async (address: string) => {
    const network = networkOf(address);
    await consume(
      limit,
      wrongKeysPerMinute,
      network,
      1,
      'wrong keys and tokens a minute are admitted from this address',
    );
    return async () => {
      await limiterOf(limit, wrongKeysPerMinute).reward(hashOf(network), 1);
    };
  };

  // A row whose minute has passed is used again, but not removed by its limiter.
  const clear = () =>
    void store?.cleaner.query('delete from administration.call_counts where expire < $1', [Date.now()]).catch(() => {});
  const timer = store ? setInterval(clear, CLEAR_EVERY_MS).unref() : undefined;

  return {
    /** Counts calls of a caller. Throws L9RAT once its key or its tenant has made too many of this minute. */
    async countCalls(identity: Identity, kind: CallKind, calls = 1) {
      const { key, tenant } = limitsOf(identity);
      try {
        await consume(
          kind,
          key[kind],
          clientOf(identity),
          calls,
          `${kind} a minute are admitted from this key or user`,
        );
        await consume(
          `tenant_${kind}`,
          tenant[kind],
          identity.tenantId,
          calls,
          `${kind} a minute are admitted from this tenant`,
        );
      } catch (error) {
        if (error instanceof KnownError) error.claimed = { tenantId: identity.tenantId, caller: identity.caller };
        throw error;
      }
    },
    /**
     * Counts a key or token that may be wrong. Throws L9RAT once too many came from this address. The returned function takes
     * the count back, if it was right.
     */
    countAttempt: countAttempts('wrong_keys'),
    /** The same for the paths of monitors, always counted in this process: they must be answered while the database is not. */
    countMonitorAttempt: countAttempts(WRONG_MONITOR_KEYS),
    close: () => clearInterval(timer),
  };
}

function createLimiter(keyPrefix: string, points: number, store: WorkerPool | null = null): RateLimiterAbstract {
  const options = { keyPrefix, points, duration: PERIOD_SECONDS };
  if (!store) return new RateLimiterMemory(options);
  return new RateLimiterPostgres({
    ...options,
    storeClient: store,
    storeType: 'pool',
    schemaName: 'administration',
    tableName: 'call_counts',
    tableCreated: true,
    clearExpiredByTimeout: false,
    // A call beyond the limit costs no query.
    inMemoryBlockOnConsumed: points,
    // While the database is away, or too slow, each process counts for itself.
    insuranceLimiter: new RateLimiterMemory(options),
  });
}

const hashOf = (subject: string) => hash('sha256', subject, 'base64url');

/** An IPv4 address, or the network of an IPv6 address: one machine has 2^64 addresses there. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
