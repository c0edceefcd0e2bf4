import pg from 'pg';
import type { WorkerPool } from './database.ts';

// Counting a call takes a millisecond. A count that takes much longer waits for a lock, or for a server that is away.
const TIMEOUT_MS = 1_000;
// PostgreSQL ends a statement itself; this is for a server that does not answer at all.
const NO_ANSWER_MS = 2 * TIMEOUT_MS;
const AWAY_FOR_MS = 5_000;
const CONNECTIONS = 4;

/**
 * Connections of l9_worker for short queries that something else can replace. After one failed, the next ones are refused at once
 * for some seconds, so that calls do not wait for the same failure one after the other.
 */
export function openCountsPool(databaseUrl: string, onError: (error: Error) => void) {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    min: 0,
    max: CONNECTIONS,
    application_name: 'l9-memory counts',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: NO_ANSWER_MS,
    options: `-c jit=off -c role=l9_worker -c statement_timeout=${TIMEOUT_MS}`,
  });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  let awayUntil = 0;
  const query = async (...args: unknown[]) => {
    if (Date.now() < awayUntil) throw new Error('the database did not count calls a moment ago');
    try {
      return await (pool.query as (...args: unknown[]) => Promise<unknown>)(...args);
    } catch (error) {
      if (Date.now() >= awayUntil) onError(error as Error);
      awayUntil = Date.now() + AWAY_FOR_MS;
      throw error;
    }
  };
  return { query: query as WorkerPool['query'], close: () => pool.end() };
}
