// The committed migrations and what a first start adds to them, on either engine.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { pgcrypto } from '@electric-sql/pglite/contrib/pgcrypto';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { pg_textsearch } from '@electric-sql/pglite-pg_textsearch';
import { vector } from '@electric-sql/pglite-pgvector';
import { Logger as MigrateLogger, migrate } from 'graphile-migrate';
import { makeWorkerUtils, Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';

const db = join(import.meta.dirname, '..', '..');
const migrationsFolder = join(db, 'migrations');

export const bootstrapSql = () => readFileSync(join(db, 'bootstrap.sql'), 'utf8');

export function committedSql(): Buffer[] {
  const folder = join(migrationsFolder, 'committed');
  return readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file)));
}

export const openEngine = (dataFolder: string): Promise<PGlite> =>
  PGlite.create(dataFolder, { extensions: { vector, pg_textsearch, pgcrypto, pg_trgm } });

/** The engine has one session, so the pool has one client. */
export const poolOf = (engine: PGlite): pg.Pool =>
  newPool({ ...(createPgConfig(engine) as unknown as pg.PoolConfig), max: 1, idleTimeoutMillis: 0 });

/** A pool whose idle or closing connections may break without ending this process, as when their database is dropped. */
export function newPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Runs the committed migrations. The URL is that of l9_owner. */
export const runMigrations = (connectionString: string): Promise<void> =>
  migrate({
    connectionString,
    databaseOwner: 'l9_owner',
    migrationsFolder,
    logger: new MigrateLogger(() => () => {}),
  });

/** The job queue's own tables, and the first contents of the materialized views. The pool acts as l9_worker. */
export async function prepareJobs(workerPool: pg.Pool): Promise<void> {
  const queue = await makeWorkerUtils({ pgPool: workerPool, logger: new WorkerLogger(() => () => {}) });
  await queue.migrate();
  await queue.release();
  await workerPool.query('call public.refresh_memory_views()');
}
