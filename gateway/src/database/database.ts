import type pg from 'pg';

export interface Database {
  engine: 'embedded' | 'server';
  /** Logged in as l9_gateway, which has no rights of its own: every transaction needs a role and claims. */
  pool: pg.Pool;
  /** The same database as l9_worker, for jobs. */
  workerPool: pg.Pool;
  /** How a DBA connects with psql, without secrets. */
  psqlUrl: string;
  /** Calls back when this channel is notified, or may have been. Resolves to a function that stops listening. */
  listen(channel: string, onNotify: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The part of a pool of l9_worker that jobs need. */
export type WorkerPool = Pick<pg.Pool, 'query'>;
