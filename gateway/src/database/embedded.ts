import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { pgcrypto } from '@electric-sql/pglite/contrib/pgcrypto';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { pg_textsearch } from '@electric-sql/pglite-pg_textsearch';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Database } from './index.ts';
import { bootstrapSql, pendingMigrations, runMigrations } from './migrations.ts';
import { servePsql } from './psql-socket.ts';

/**
 * PostgreSQL in WebAssembly, in this process, with its data in the home folder. The caller holds the lock of that
 * folder. It has one session, which all users share one transaction at a time: hence one pool with one client.
 */
export async function openEmbedded(config: Config, logger: Logger): Promise<Database> {
  const dataDir = join(config.home, 'data');
  if (!existsSync(dataDir)) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = await PGlite.create(dataDir, { extensions: { vector, pg_textsearch, pgcrypto } });
  const pool = new pg.Pool({ ...(createPgConfig(db) as unknown as pg.PoolConfig), max: 1, idleTimeoutMillis: 0 });

  try {
    if ((await pendingMigrations(pool)).length > 0) {
      logger.info('preparing the database');
      await db.exec(bootstrapSql());
      await migrateThroughSocket(db, logger);
    }
    // From here on nothing runs as a superuser.
    await db.exec('set session authorization l9_gateway');
    const psql = await servePsql(db, pool, config.home, logger);
    return {
      engine: 'embedded',
      pool,
      workerPool: poolAs(pool, 'l9_worker'),
      psqlUrl: psql.url,
      close: async () => {
        await psql.close();
        await pool.end();
        await db.close();
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** graphile-migrate brings its own client, so the engine is put behind a socket for it, in a folder of our own. */
async function migrateThroughSocket(db: PGlite, logger: Logger): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'l9-'));
  const server = new PGLiteSocketServer({ db, path: join(folder, '.s.PGSQL.5432'), maxConnections: 4 });
  await db.exec('set session authorization l9_owner');
  try {
    await server.start();
    await runMigrations(`postgres://l9_owner@localhost/postgres?host=${encodeURIComponent(folder)}`, logger);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  await db.exec('deallocate all; reset all');
}

/** The same pool, where whoever checks a client out has the role until it is handed back. */
function poolAs(pool: pg.Pool, role: string): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    await client.query(`set role ${role}`);
    const release = client.release.bind(client);
    client.release = (failure?: Error | boolean) => {
      client.release = release;
      client.query('reset role').then(
        () => release(failure),
        (error: Error) => release(error),
      );
    };
    return client;
  };
  const query = async (...args: unknown[]) => {
    const client = await connect();
    try {
      return await (client.query as (...args: unknown[]) => Promise<unknown>)(...args);
    } finally {
      client.release();
    }
  };
  return new Proxy(pool, {
    get: (target, name, receiver) =>
      name === 'connect' ? connect : name === 'query' ? query : Reflect.get(target, name, receiver),
  });
}
