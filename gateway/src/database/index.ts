import type pg from 'pg';
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded.ts';
import type { Settings } from './fair-pool.ts';
import { noteVersion } from './migrations.ts';
import { openServer } from './server.ts';
import { inOneTrip } from './transaction.ts';

export type { Database, PoolState, WorkerPool } from './database.ts';
export type { Settings } from './fair-pool.ts';
export { queryPrepared } from './prepared.ts';
export { inOneTrip, inTransaction, retryDeadlocks, settled } from './transaction.ts';

/**
 * Runs one query that writes nothing but the record of it, in one round trip: on a replica where there is one, with its record on the
 * primary. `what` tells this query from others: its text, or the name of the operation.
 */
export const readInOneTrip = <T>(
  { pool, replicas }: Pick<Database, 'pool' | 'replicas'>,
  what: string,
  settings: Settings,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> => (replicas ? replicas.read(what, settings, work) : inOneTrip(pool, settings, 'read', work));

/** Opens and migrates the configured engine, or rejects with what is missing. `onPrepare` is called on a first start. */
export async function openDatabase(config: Config, logger: Logger, onPrepare?: () => void): Promise<Database> {
  const database = config.databaseUrl
    ? await openServer(config, config.databaseUrl, logger)
    : await openEmbedded(config, logger, onPrepare);
  await noteVersion(database.workerPool).catch((error) => {
    // As on a full disk: the next start notes it.
    logger.warn({ code: sqlstateOf(error) }, 'the version could not be noted in the database');
  });
  return database;
}
