import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import { pgcrypto } from '@electric-sql/pglite/contrib/pgcrypto';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { pg_textsearch } from '@electric-sql/pglite-pg_textsearch';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Database } from './database.ts';
import { bootstrapSql, pendingMigrations, runMigrations } from './migrations.ts';
import { servePsql } from './psql-socket.ts';

/**
 * PostgreSQL in WebAssembly, in this process, with its data in the home folder. The caller holds the lock of that
 * folder. The engine has one session, so there is one pool with one client, which runs one transaction at a time.
 */
export async function openEmbedded(config: Config, logger: Logger, onPrepare?: () => void): Promise<Database> {
  const db = await openEngine(config, onPrepare);
  const engine = createPgConfig(db);
  const onlyPool = new pg.Pool({ ...(engine as unknown as pg.PoolConfig), max: 1, idleTimeoutMillis: 0 });
  onlyPool.on('error', (error) => logger.warn({ name: error.name }, 'the connection to the engine broke'));
  onlyPool.on('connect', (client) =>
    client.on('error', (error) => logger.warn({ name: error.name }, 'the connection to the engine broke')),
  );
  const pool = tidyPool(db, onlyPool);

  try {
    await prepare(db, pool, logger, onPrepare);
    // From here on nothing runs as a superuser.
    await db.exec('set session authorization l9_gateway');
    const listeners = new Map<string, Set<() => void>>();
    const psql = await servePsql(db, pool, config.home, logger, {
      // Otherwise psql would receive notifications that it did not listen to.
      onTurnStart: async () => {
        if (listeners.size > 0) await db.exec('unlisten *');
      },
      onTurnEnd: async () => {
        // Clears the list in which pg keeps the statements it has prepared in the session.
        engine.connection.parsedStatements = {};
        engine.connection.submittedNamedStatements = {};
        for (const [channel, callbacks] of listeners) {
          await db.exec(`listen ${pg.escapeIdentifier(channel)}`);
          for (const callback of callbacks) callback();
        }
      },
    });
    return {
      engine: 'embedded',
      pool,
      workerPool: tidyPool(db, onlyPool, 'l9_worker'),
      psqlUrl: psql.url,
      listen: async (channel, onNotify) => {
        const callbacks = listeners.get(channel) ?? new Set();
        listeners.set(channel, callbacks.add(onNotify));
        const unlisten = await db.listen(channel, onNotify);
        return async () => {
          callbacks.delete(onNotify);
          if (callbacks.size === 0) listeners.delete(channel);
          await unlisten();
        };
      },
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

/** Runs one statement as l9_owner on an engine that no server uses. The caller holds the lock of the folder. */
export async function queryEmbeddedAsOwner(
  config: Config,
  logger: Logger,
  query: string,
  values: unknown[],
): Promise<Record<string, unknown>[]> {
  const db = await openEngine(config);
  try {
    const pool = new pg.Pool({ ...(createPgConfig(db) as unknown as pg.PoolConfig), max: 1 });
    await prepare(db, pool, logger);
    await pool.end();
    await db.exec('set session authorization l9_owner');
    return (await db.query<Record<string, unknown>>(query, values)).rows;
  } finally {
    await db.close();
  }
}

async function openEngine(config: Config, onPrepare?: () => void): Promise<PGlite> {
  const dataDir = join(config.home, 'data');
  if (!existsSync(dataDir)) {
    onPrepare?.();
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  }
  return PGlite.create(dataDir, { extensions: { vector, pg_textsearch, pgcrypto } });
}

async function prepare(db: PGlite, pool: pg.Pool, logger: Logger, onPrepare?: () => void): Promise<void> {
  if ((await pendingMigrations(pool)).length === 0) return;
  logger.info('preparing the database');
  onPrepare?.();
  await db.exec(bootstrapSql());
  await migrateThroughSocket(db, logger);
}

/** graphile-migrate has its own client, so it reaches the engine through a socket in a private folder. */
async function migrateThroughSocket(db: PGlite, logger: Logger): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'l9-'));
  const server = new PGLiteSocketServer({ db, path: join(folder, '.s.PGSQL.5432'), maxConnections: 4 });
  await db.exec('set session authorization l9_owner');
  try {
    await server.start();
    await runMigrations(`postgres://l9_owner@localhost/postgres?host=${encodeURIComponent(folder)}`, logger);
  } finally {
    // graphile-migrate closes its connection late, and ends this process if the connection breaks before that.
    for (let tries = 0; tries < 100 && server.getStats().activeConnections > 0; tries++) await setTimeout(20);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  await db.exec('deallocate all; reset all');
}

/**
 * The same pool, but a released client is reset: a failed transaction is rolled back and the role is reset. With `role`,
 * a client has that role until it is released.
 */
function tidyPool(db: PGlite, pool: pg.Pool, role?: string): pg.Pool {
  const tidyUp = async () => {
    if (db.isInTransaction()) await db.exec('rollback');
    if (role) await db.exec('reset role');
  };
  const checkOut = async () => {
    const client = await pool.connect();
    try {
      if (role) await client.query(`set role ${role}`);
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
    const release = client.release.bind(client);
    client.release = (failure?: Error | boolean) => {
      client.release = release;
      tidyUp().then(
        () => release(failure),
        (error: Error) => release(error),
      );
    };
    return client;
  };
  const query = async (...args: unknown[]) => {
    const client = await checkOut();
    try {
      return await (client.query as (...args: unknown[]) => Promise<unknown>)(...args);
    } finally {
      client.release();
    }
  };
  return new Proxy(pool, {
    get: (target, name, receiver) =>
      name === 'connect' ? checkOut : name === 'query' ? query : Reflect.get(target, name, receiver),
  });
}
