// One replica: its connections, how far it has replayed the primary's log, and whether it can be read from.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { type FairPool, fairQueueOf, withFairQueue } from './fair-pool.ts';
import { lsnOf } from './lsn.ts';
import { READ_INDEXES } from './read-indexes.ts';

const CONNECT_WITHIN_MS = 2_000;
const PROBE_WITHIN_MS = 2_000;
const READ_INDEXES_EVERY_MS = 10_000;
const READ_INDEXES_WITHIN_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
const ASK_EVERY_MS = 5;
/** How long a replica that failed is not read from. */
export const LEFT_ALONE_MS = 10_000;

/** What tells a cluster of servers, and a database in it, from all others. */
export interface Origin {
  system: string;
  name: string;
}

export const ORIGIN = `(select system_identifier::text from pg_control_system()) as system, current_database()::text as name`;

interface Probe extends Origin {
  replays: boolean;
  lsn: string | null;
}

export interface Replica {
  /** Host and port. */
  readonly name: string;
  readonly pool: FairPool;
  /** How many reads it has now. */
  load(): number;
  /** Bytes of the log that it has replayed, as of the last probe. */
  replayed(): bigint;
  isHealthy(): boolean;
  /** Asks how far it is, and begins now and then to look whether all its indexes can be read. It does not fail. */
  probe(primary: Origin): Promise<void>;
  /** Whether it has replayed this position, or does so within so many milliseconds. */
  waitFor(lsn: bigint, withinMs: number): Promise<boolean>;
  /** Leaves it alone for a while. */
  failed(error: unknown): void;
  close(): Promise<void>;
}

export function openReplica(url: string, config: Config, logger: Logger): Replica {
  const name = new URL(url).host;
  const open = (options: pg.PoolConfig) => {
    const pool = new pg.Pool({
      connectionString: url,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      ...options,
    });
    // The query that runs reports it, or the next probe.
    const ignore = () => {};
    pool.on('error', ignore);
    pool.on('connect', (client) => client.on('error', ignore));
    return pool;
  };
  const callers = open({
    max: config.poolSize,
    application_name: 'l9-memory',
    options: '-c jit=off',
    pipeline: true,
  } as pg.PoolConfig);
  const prober = open({
    // One for its position, and one that reads the indexes.
    max: 2,
    application_name: 'l9-memory watch',
    options: '-c jit=off -c role=l9_worker',
    query_timeout: PROBE_WITHIN_MS,
  });
  const queue = fairQueueOf(config, config.poolSize, logger);
  let replayed = 0n;
  let isWell = false;
  let aloneUntil = 0;
  /** Whether all indexes could be read the last time. */
  let isReadable = false;
  let readIndexesAt = 0;

  const failed = (error: unknown) => {
    const now = Date.now();
    if (now >= aloneUntil)
      logger.warn(
        { replica: name, code: sqlstateOf(error) ?? (error as Error).message },
        'a replica failed: it is left alone for a while, and the primary answers',
      );
    aloneUntil = now + LEFT_ALONE_MS;
    isReadable = false;
    readIndexesAt = 0;
  };

  async function ask(): Promise<Probe> {
    const { rows } = await prober.query<Probe>(
      `select pg_is_in_recovery() as replays, pg_last_wal_replay_lsn()::text as lsn, ${ORIGIN}`,
    );
    replayed = lsnOf(rows[0]!.lsn);
    return rows[0]!;
  }

  async function probe(primary: Origin): Promise<void> {
    try {
      const { replays, system, name: database } = await ask();
      if (!replays) throw new Error('it is no replica');
      if (system !== primary.system || database !== primary.name)
        throw new Error('it is a replica of another database');
      isWell = true;
      if (Date.now() >= readIndexesAt) void readIndexes();
    } catch (error) {
      isWell = false;
      failed(error);
    }
  }

  async function readIndexes(): Promise<void> {
    readIndexesAt = Number.POSITIVE_INFINITY;
    try {
      await prober.query({ text: READ_INDEXES, query_timeout: READ_INDEXES_WITHIN_MS } as pg.QueryConfig);
      isReadable = true;
    } catch (error) {
      failed(error);
    }
    readIndexesAt = Date.now() + READ_INDEXES_EVERY_MS;
  }

  async function waitFor(lsn: bigint, withinMs: number): Promise<boolean> {
    const until = performance.now() + withinMs;
    try {
      while (replayed < lsn && performance.now() < until) {
        await Promise.race([ask(), sleep(Math.max(until - performance.now(), 0), null, { ref: false })]);
        if (replayed < lsn) await sleep(ASK_EVERY_MS);
      }
    } catch (error) {
      failed(error);
      return false;
    }
    return replayed >= lsn;
  }

  return {
    name,
    pool: withFairQueue(callers, queue, 'gateway', { worked() {}, failed: (error) => error as Error }),
    load: () => callers.totalCount - callers.idleCount + queue.waiting(),
    replayed: () => replayed,
    isHealthy: () => isWell && isReadable && Date.now() >= aloneUntil,
    probe,
    waitFor,
    failed,
    close: async () => {
      await Promise.all([callers.end(), prober.end()]);
    },
  };
}
