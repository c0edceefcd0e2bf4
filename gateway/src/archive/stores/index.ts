// The stores that ARCHIVE_STORE names, each with a time limit, more attempts, and a circuit breaker.
import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  ConstantBackoff,
  circuitBreaker,
  handleAll,
  retry,
  TaskCancelledError,
  TimeoutStrategy,
  timeout,
  wrap,
} from 'cockatiel';
import type { Logger } from 'pino';
import { KnownError, sqlstateOf } from '../../base/errors.ts';
import type { ArchiveConfig } from '../../config/config.ts';
import { fileStore } from './file.ts';
import { httpStore } from './http.ts';
import { postgresStore } from './postgres.ts';
import { s3Store } from './s3.ts';
import type { Store } from './store.ts';

export type { Address, Query, Store } from './store.ts';

const FAILURES_TO_OPEN = 5;
const HALF_OPEN_AFTER_MS = 10_000;
const RETRIES = 1;
const RETRY_AFTER_MS = 200;

export function openStores({ stores, httpToken, s3, timeoutMs }: ArchiveConfig, logger: Logger): Store[] {
  const open = {
    file: (folder: string) => fileStore(folder),
    http: (base: string) => httpStore(base, httpToken, timeoutMs),
    s3: (place: string) => {
      const [bucket = '', ...folders] = place.split('/').filter(Boolean);
      const prefix = folders.map((folder) => `${folder}/`).join('');
      return s3Store({ bucket, prefix, ...s3 }, timeoutMs);
    },
  };
  return stores.map(({ kind, place }) =>
    kind === 'postgres' ? postgresStore() : guarded(open[kind](place), timeoutMs, logger),
  );
}

function guarded(store: Store, timeoutMs: number, logger: Logger): Store {
  const breaker = circuitBreaker(handleAll, {
    breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
    halfOpenAfter: HALF_OPEN_AFTER_MS,
  });
  breaker.onBreak(() => logger.warn({ store: store.name, retryInMs: HALF_OPEN_AFTER_MS }, 'an archive store is down'));
  breaker.onReset(() => logger.info({ store: store.name }, 'an archive store is back'));
  const policy = wrap(
    retry(handleAll, { maxAttempts: RETRIES, backoff: new ConstantBackoff(RETRY_AFTER_MS) }),
    breaker,
    timeout(timeoutMs, TimeoutStrategy.Aggressive),
  );
  async function run<T>(what: string, work: () => Promise<T>): Promise<T> {
    let attempts = 0;
    let failure: unknown;
    try {
      return await policy.execute(async () => {
        attempts += 1;
        return work().catch((error: unknown) => {
          failure = error;
          throw error;
        });
      });
    } catch (error) {
      const says =
        attempts === 0
          ? `${what} was not tried, because the store is down; it is asked again within ${HALF_OPEN_AFTER_MS / 1_000} s`
          : `${what} failed ${attempts === 1 ? 'once' : 'twice'} (${reasonOf(error instanceof BrokenCircuitError ? failure : error, timeoutMs)})`;
      throw new KnownError('L9BSY', `archive store ${store.name}: ${says}`);
    }
  }
  return {
    name: store.name,
    put: (address, blob, query) => run('put', () => store.put(address, blob, query)),
    get: (address, query) => run('get', () => store.get(address, query)),
    delete: (hash) => run('delete', () => store.delete(hash)),
  };
}

/** Never an address or a path: only what kind of failure it was. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof TaskCancelledError || (error as Error | undefined)?.name === 'TimeoutError')
    return `no answer within ${timeoutMs} ms`;
  const cause = (error as { cause?: unknown } | undefined)?.cause;
  const code = sqlstateOf(cause) ?? sqlstateOf(error);
  if (code) return code;
  const said = /^(\w+ was answered with HTTP \d+|no credentials were found)$/.exec(
    (error as Error | undefined)?.message ?? '',
  );
  return said?.[0] ?? 'it cannot be reached';
}
