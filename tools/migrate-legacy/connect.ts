// The two connections of a move: this installation's database as l9_owner, and the database of the old tables.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { sqlstateOf } from '../../gateway/src/base/errors.ts';
import { createLogger } from '../../gateway/src/base/logger.ts';
import { type Config, ConfigError } from '../../gateway/src/config/config.ts';
import { openEmbedded } from '../../gateway/src/database/embedded.ts';
import { pendingMigrations } from '../../gateway/src/database/migrations.ts';
import { takeHome } from '../../gateway/src/home/examine.ts';
import { LegacyProblem, type Query } from './source.ts';

export interface Connection {
  query: Query;
  close(): Promise<void>;
}

type Client = pg.Client | pg.PoolClient;

// Times without a zone are read as UTC.
const SESSION = "set timezone = 'UTC'; set statement_timeout = 0; set datestyle = 'ISO'";
const BUSY_FOR_MS = 15_000;

const queryOf =
  (client: Client): Query =>
  async (sql, values = []) =>
    (await client.query(sql, values)).rows;

/** This installation's database as l9_owner: a server by DATABASE_OWNER_URL, otherwise the embedded engine, which no server may use. */
export async function connectOwner(config: Config): Promise<Connection> {
  if (!config.databaseUrl && !config.databaseOwnerUrl) return embeddedOwner(config);
  if (!config.databaseOwnerUrl) {
    throw new ConfigError(
      'DATABASE_OWNER_URL: must be the URL of l9_owner, the only role that may import old memories',
    );
  }
  const connection = await connectTo(config.databaseOwnerUrl, 'DATABASE_OWNER_URL');
  try {
    const [{ me }] = await connection.query('select current_user::text as me');
    if (me !== 'l9_owner') throw new ConfigError(`DATABASE_OWNER_URL: must be the URL of l9_owner, not of ${me}`);
    const pending = await pendingMigrations(connection.client);
    if (pending.length > 0)
      throw new LegacyProblem(
        `this database has not run ${pending.join(', ')}: start the server with DATABASE_OWNER_URL first`,
      );
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function embeddedOwner(config: Config): Promise<Connection> {
  const lock = await takeHome(config);
  try {
    const database = await openEmbedded(config, createLogger(config.logLevel, 2));
    // The pool of jobs, because statements of callers end after some seconds.
    const client = await database.workerPool.connect();
    await client.query('set session authorization l9_owner');
    await client.query(SESSION);
    return {
      query: queryOf(client),
      close: async () => {
        await client.query('rollback');
        await client.query('reset all');
        await client.query('set session authorization l9_gateway');
        client.release();
        await database.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Any other database, as the user of its URL. */
export async function connectTo(url: string, name: string): Promise<Connection & { client: pg.Client }> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'l9-memory migrate-legacy',
  });
  // Errors of the connection are reported by the query that was running.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(SESSION);
  } catch (error) {
    const { hostname, port } = new URL(url);
    const { message } = error as Error;
    const code = sqlstateOf(error);
    throw new LegacyProblem(
      `${name}: can't connect to ${hostname || 'the local server'}:${port || 5432}: ${message || code}`,
    );
  }
  return { client, query: queryOf(client), close: () => client.end() };
}

/** Allows one move at a time. The server may take a moment to notice that a killed one has ended. */
export async function lockMove(query: Query): Promise<void> {
  const deadline = Date.now() + BUSY_FOR_MS;
  for (;;) {
    const [{ locked }] = await query(
      "select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtext('l9-memory migrate-legacy')) as locked",
    );
    if (locked) return;
    if (Date.now() > deadline) throw new LegacyProblem('another migrate-legacy is running on this database');
    await setTimeout(250);
  }
}
