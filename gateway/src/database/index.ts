import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded.ts';
import { openServer } from './server.ts';

export type { Database, PoolState, WorkerPool } from './database.ts';
export { queryPrepared } from './prepared.ts';
export { inOneTrip, inTransaction, isPipelined, retryDeadlocks, type Settings, settled } from './transaction.ts';

/** Opens and migrates the configured engine, or rejects with what is missing. `onPrepare` is called on a first start. */
export function openDatabase(config: Config, logger: Logger, onPrepare?: () => void): Promise<Database> {
  return config.databaseUrl ? openServer(config, config.databaseUrl, logger) : openEmbedded(config, logger, onPrepare);
}
