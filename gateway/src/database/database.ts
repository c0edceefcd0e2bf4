import type pg from 'pg';

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

/** The part of a pool of l9_worker that jobs need. */
export type WorkerPool = Pick<pg.Pool, 'query'>;
