import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded.ts';
import { openServer } from './server.ts';

export type { Database, WorkerPool } from './database.ts';
export { inOneTrip, inTransaction, isPipelined, retryDeadlocks, type Settings } from './transaction.ts';

/** Opens the engine that the configuration names, migrated, or says what is missing. `onPrepare` tells of a first start. */
export function openDatabase(config: Config, logger: Logger, onPrepare?: () => void): Promise<Database> {
  return config.databaseUrl ? openServer(config, config.databaseUrl, logger) : openEmbedded(config, logger, onPrepare);
}
