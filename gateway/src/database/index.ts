import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openEmbedded } from './embedded.ts';
import { openServer } from './server.ts';

export interface Database {
  engine: 'embedded' | 'server';
  /** Logged in as l9_gateway, which may do nothing by itself: give every transaction a role and claims. */
  pool: pg.Pool;
  /** The same database as l9_worker, for jobs. */
  workerPool: pg.Pool;
  /** How a DBA connects with psql, without secrets. */
  psqlUrl: string;
  /** Calls back when this channel is notified, or may have been. Resolves with how to stop. */
  listen(channel: string, onNotify: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export { inOneTrip, inTransaction, isPipelined, outOfDeadlock, type Settings } from './transaction.ts';

/** Opens the engine that the configuration names, migrated, or says what is missing. */
export function openDatabase(config: Config, logger: Logger): Promise<Database> {
  return config.databaseUrl ? openServer(config, config.databaseUrl, logger) : openEmbedded(config, logger);
}
