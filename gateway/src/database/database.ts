import type pg from 'pg';
import type { Disk } from './disk.ts';
import type { FairPool } from './fair-pool.ts';
import type { Replicas } from './replicas.ts';

export interface PoolState {
  inUse: number;
  idle: number;
  /** How many requests wait for a connection. */
  waiting: number;
}

export interface Database {
  engine: 'embedded' | 'server';
  /** Logged in as l9_gateway, which has no rights of its own: every transaction needs a role and claims. */
  pool: FairPool;
  /** The same database as l9_worker. */
  workerPool: pg.Pool;
  /** The same for the job of this name. The jobs get their connections in turn, so that none waits for all that another does. */
  jobPool(name: string): pg.Pool;
  /** As l9_worker, where gateways count calls together: a query that takes longer than a second fails. Only on a server. */
  countsPool?: WorkerPool;
  /** Where reads may run besides; absent without DATABASE_REPLICA_URLS. */
  replicas?: Replicas;
  /** What the connections are doing now, by the pool that they belong to. */
  pools(): Readonly<Record<string, PoolState>>;
  /** The disk that the database is on. */
  disk: Disk;
  /** How a DBA connects with psql, without secrets. */
  psqlUrl: string;
  /** Calls back when this channel is notified, or may have been. Resolves to a function that stops listening. */
  listen(channel: string, onNotify: () => void): Promise<() => Promise<void>>;
  /** Whether the engine was ended by `rest`. The next query starts it again; work that can wait should make no query. */
  isResting(): boolean;
  /** Ends the embedded engine if nobody uses it, to give its memory back. */
  rest?(): Promise<void>;
  /** Starts it again without waiting for it. */
  wake?(): void;
  close(): Promise<void>;
}

/** The part of a pool of l9_worker that jobs need. */
export type WorkerPool = Pick<pg.Pool, 'query'>;
