import pg from 'pg';
import type { Logger } from 'pino';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { watchConnecting } from './away.ts';
import { withConnection } from './connection.ts';
import { openCountsPool } from './counts-pool.ts';
import type { Database, PoolState } from './database.ts';
import { watchRefusals } from './disk.ts';
import { type FairPool, fairQueueOf, withFairQueue } from './fair-pool.ts';
import { listenOnServer } from './listen.ts';
import { migrateServer } from './migrate-server.ts';
import { pendingMigrations } from './migrations.ts';
import { watchReplication } from './replicated.ts';
import { traceQueries } from './trace-queries.ts';

// As many as there are jobs, and one that listens for new ones.
const JOB_CONNECTIONS = 12;

/** How many connections stay open, unless the pool is smaller, and after how long without use the others are closed. */
const OPEN_CONNECTIONS = 2;
const IDLE_TIMEOUT_MS = 30_000;

/** Opens a PostgreSQL 18 server. Migrates it first if DATABASE_OWNER_URL is set; otherwise it only checks. */
export async function openServer(config: Config, databaseUrl: string, logger: Logger): Promise<Database> {
  const directUrl = config.databaseDirectUrl ?? databaseUrl;
  if (config.isPooled) await requireSameName(databaseUrl, directUrl);
  if (config.databaseOwnerUrl) {
    await requireSameDatabase(databaseUrl, config.databaseOwnerUrl);
    await migrateServer(config.databaseOwnerUrl, logger);
  }

  const open = ({ min, max, role }: { min: number; max: number; role?: string }) => {
    const pool = new pg.Pool({
      connectionString: role ? directUrl : databaseUrl,
      min,
      max,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      application_name: role ? 'l9-memory jobs' : 'l9-memory',
      connectionTimeoutMillis: config.queue.timeoutMs,
      // Queries run for milliseconds; JIT compilation would take longer. A pooler keeps no options: each transaction sets them.
      ...(role || !config.isPooled ? { options: `-c jit=off${role ? ` -c role=${role}` : ''}` } : {}),
      // Pipelining sends queries without waiting for earlier answers. Jobs wait for each answer anyway.
      pipeline: !role,
    });
    // A server that restarts breaks idle connections; the pool replaces them when they are next needed.
    const onError = (error: Error) => logger.warn({ code: sqlstateOf(error) }, 'a database connection broke');
    pool.on('error', onError);
    // A checked-out client needs a listener too: without one its error would end the process.
    pool.on('connect', (client) => {
      client.on('error', onError);
      watchReplication(client);
      if (config.tracing) traceQueries(client);
    });
    return pool;
  };
  const openConnections = Math.min(OPEN_CONNECTIONS, config.poolSize);
  const pool = open({ min: openConnections, max: config.poolSize });
  const workerPool = open({ min: 0, max: JOB_CONNECTIONS, role: 'l9_worker' });
  const countsPool = openCountsPool(directUrl, (error) =>
    logger.warn({ code: sqlstateOf(error) }, 'the database does not count calls: this process does'),
  );
  const queue = fairQueueOf(config, config.poolSize, logger);
  const close = async () => {
    await Promise.all([pool.end(), workerPool.end(), countsPool.close()]);
  };

  try {
    const pending = await pendingMigrations(workerPool);
    if (pending.length > 0) {
      throw new Error(
        `this database has not run ${pending.join(', ')}: start with DATABASE_OWNER_URL (l9_owner), or run ` +
          '`l9-memory db setup --root-url …` or `graphile-migrate -c graphile-migrate.json migrate` with DATABASE_URL of l9_owner',
      );
    }
    await openAtOnce(pool, openConnections);
  } catch (error) {
    await close();
    if (sqlstateOf(error) === SQLSTATE.invalidParameter || sqlstateOf(error) === SQLSTATE.undefinedObject) {
      throw new Error('this database has no role l9_worker: run `l9-memory db setup --root-url …` first');
    }
    if (!config.isPooled && /unsupported startup parameter/.test((error as Error).message)) {
      throw new Error('DATABASE_URL leads to a pooler: give the URL of the server itself in DATABASE_DIRECT_URL');
    }
    throw error;
  }
  const shown = new URL(directUrl);
  shown.password = '';
  const disk = watchRefusals();
  const connecting = watchConnecting(logger);
  // A connection to a pooler tells nothing of the server behind it: a transaction does.
  const toPooler = { ...connecting, worked() {} };
  const callers: FairPool = Object.assign(
    withFairQueue(pool, queue, 'gateway', config.isPooled ? toPooler : connecting),
    {
      onNoRoom: disk.refused,
      ...(config.isPooled ? { settings: { jit: 'off' }, pooler: connecting } : {}),
    },
  );
  const replicas = config.replicas.urls.length > 0 ? await replicasOf(config, callers, workerPool, logger) : null;
  return {
    engine: 'server',
    pool: callers,
    ...(replicas ? { replicas } : {}),
    workerPool,
    jobPool: () => workerPool,
    countsPool,
    pools: () => ({ callers: stateOf(pool, queue.waiting()), jobs: stateOf(workerPool) }),
    disk,
    psqlUrl: shown.href,
    isResting: () => false,
    listen: (channel, onNotify) => listenOnServer(directUrl, channel, logger, onNotify),
    async close() {
      await replicas?.close();
      await close();
    },
  };
}

/** Loaded only where there are replicas. */
async function replicasOf(config: Config, pool: FairPool, workerPool: pg.Pool, logger: Logger) {
  const { openReplicas } = await import('./replicas.ts');
  return openReplicas(config, pool, workerPool, logger);
}

const nameOf = async (client: pg.Client) =>
  (await client.query<{ name: string }>('select current_database()::text as name')).rows[0]!.name;

/** Refuses a pooler that leads to another database: what is written there would never be embedded or sealed. */
async function requireSameName(databaseUrl: string, directUrl: string): Promise<void> {
  const [pooled, direct] = await Promise.all([databaseUrl, directUrl].map((url) => withConnection(url, nameOf)));
  if (pooled !== direct)
    throw new Error(
      `DATABASE_URL is of database ${pooled}, and DATABASE_DIRECT_URL of ${direct}: give both for the same one`,
    );
}

/** Refuses to migrate a database that was not set up for l9-memory, is of another version, or is not the one that is used. */
async function requireSameDatabase(databaseUrl: string, ownerUrl: string): Promise<void> {
  const used = await withConnection(databaseUrl, nameOf);
  await withConnection(ownerUrl, async (client) => {
    const name = await nameOf(client);
    if (name !== used) {
      throw new Error(
        `DATABASE_URL is of database ${used}, and DATABASE_OWNER_URL of ${name}: give both for the same one; nothing was migrated`,
      );
    }
    const { rowCount } = await client.query("select from pg_catalog.pg_namespace where nspname = 'l9_guard'");
    if (rowCount === 0) {
      throw new Error(
        `database ${name} was never set up for l9-memory: run \`l9-memory db setup --root-url …\` first; nothing was migrated`,
      );
    }
    await pendingMigrations(client);
  });
}

/** The pool keeps so many open, but opens none before it is needed. */
async function openAtOnce(pool: pg.Pool, count: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
  for (const client of clients) client.release();
}

const stateOf = ({ totalCount, idleCount, waitingCount }: pg.Pool, alsoWaiting = 0): PoolState => ({
  inUse: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount + alsoWaiting,
});
