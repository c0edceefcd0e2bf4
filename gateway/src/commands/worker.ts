// The database as l9_worker, for a command that does the work of a job. With the embedded engine it opens the folder, or
// connects through the gateway that has locked it.
import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { inTransaction, openDatabase, type WorkerPool } from '../database/index.ts';
import { requireLogins } from '../database/logins.ts';
import { isListening, psqlSocket } from '../database/psql-socket.ts';
import { takeHome } from '../home/examine.ts';

export interface Worker {
  pool: WorkerPool;
  close(): Promise<void>;
}

export async function openWorker(config: Config, logger: Logger): Promise<Worker> {
  if (config.databaseUrl) {
    await requireLogins(config);
    const database = await openDatabase(config, logger);
    return { pool: database.workerPool, close: database.close };
  }
  if (await isListening(psqlSocket(config.home).path)) return throughServer(config.home);
  const lock = await takeHome(config);
  try {
    const database = await openDatabase(config, logger);
    return {
      pool: database.workerPool,
      close: async () => {
        await database.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Connects through the socket of psql. Its settings last for one turn, so each statement sets the role again. */
function throughServer(home: string): Worker {
  const pool = new pg.Pool({ connectionString: psqlSocket(home).url, max: 1, application_name: 'l9-memory command' });
  pool.on('error', () => {});
  const query = (text: string, values?: unknown[]) =>
    inTransaction(pool, { role: 'l9_worker' }, (client) => client.query(text, values));
  return { pool: { query } as WorkerPool, close: () => pool.end() };
}
