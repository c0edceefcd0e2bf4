// The stores that ARCHIVE_STORE names, each with a time limit, one more attempt, and a circuit breaker.
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
import type { ArchiveConfig } from '../../config.ts';
import { KnownError, sqlstateOf } from '../../errors.ts';
import { fileStore } from './file.ts';
import { httpStore } from './http.ts';
import { postgresStore } from './postgres.ts';
import { s3Store } from './s3.ts';
import type { Store } from './store.ts';

export type { Query, Store } from './store.ts';

const FAILURES_TO_OPEN = 5;
const HALF_OPEN_AFTER_MS = 10_000;
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
    retry(handleAll, { maxAttempts: 1, backoff: new ConstantBackoff(RETRY_AFTER_MS) }),
    breaker,
    timeout(timeoutMs, TimeoutStrategy.Aggressive),
  );
  const run = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    policy.execute(work).catch((error: unknown) => {
      throw new KnownError(
        'L9BSY',
        `archive store ${store.name}: ${what} failed twice (${reasonOf(error, timeoutMs)})`,
      );
    });
  return {
    name: store.name,
    put: (hash, blob, query) => run('put', () => store.put(hash, blob, query)),
    get: (hash, query) => run('get', () => store.get(hash, query)),
    has: (hash, query) => run('has', () => store.has(hash, query)),
    stat: (hash, query) => run('stat', () => store.stat(hash, query)),
    delete: (hash) => run('delete', () => store.delete(hash)),
  };
}

/** Never an address or a path: only what kind of failure it was. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof TaskCancelledError || (error as Error).name === 'TimeoutError')
    return `no answer within ${timeoutMs} ms`;
  if (error instanceof BrokenCircuitError) return 'it is down';
  const cause = (error as { cause?: unknown }).cause;
  const code = sqlstateOf(cause) ?? sqlstateOf(error);
  if (code) return code;
  const said = /^(\w+ was answered with HTTP \d+|no credentials were found)$/.exec((error as Error).message);
  return said?.[0] ?? 'it cannot be reached';
}
