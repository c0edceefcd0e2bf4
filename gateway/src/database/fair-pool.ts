import type pg from 'pg';
import type { Logger } from 'pino';
import { currentRequest } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { createFairQueue, type FairQueue } from './fair-queue.ts';

const WARN_EVERY_MS = 10_000;

/** A `read` writes nothing but the record of it. */
export type Intent = 'read' | 'write';

/** Settings local to a transaction: `role`, the claims, `l9.tool_name` … */
export type Settings = Readonly<Record<string, string>>;

/** A pool whose connections are given to clients by a fair queue. */
export interface FairPool extends pg.Pool {
  /** Settings of every transaction, where a pooler in between keeps none for a connection. */
  settings?: Settings;
  /** Is told of each transaction, where a pooler in between takes connections that lead to no server. */
  pooler?: Connecting;
  /** A connection for this client. Rejects with L9BSY when too many wait, or when this request has waited too long in all, and with L9DSK on a full disk. */
  connectFor?(client: string, intent: Intent): Promise<pg.PoolClient>;
  /** Called when PostgreSQL had no room on its disk for a request. */
  onNoRoom?(): void;
  /** Called after the commit of a write, with the client and the position in the write-ahead log (LSN), where replicas need it. */
  onWritten?(client: string, lsn: string): void;
}

/** The queue in front of a pool of this size, with the limits of the configuration. Refusals are logged together, not one by one. */
export function fairQueueOf({ queue }: Config, slots: number, logger: Logger): FairQueue {
  let refused = 0;
  let timer: NodeJS.Timeout | undefined;
  const warn = () => {
    if (refused > 0) logger.warn({ refused }, 'requests were refused because too many wait for the database');
    timer = refused > 0 ? setTimeout(warn, WARN_EVERY_MS).unref() : undefined;
    refused = 0;
  };
  return createFairQueue({ slots, maxWaiting: queue.length, maxWaitMs: queue.timeoutMs }, () => {
    refused += 1;
    if (!timer) warn();
  });
}

/** Is told whether connecting worked. */
export interface Connecting {
  worked(): void;
  /** Returns the error that callers get. */
  failed(error: unknown): Error;
}

/** The same pool behind the queue. `connect` and `query`, which the gateway uses for itself under this name, are never refused. */
export function withFairQueue(pool: pg.Pool, queue: FairQueue, name: string, connecting: Connecting): FairPool {
  const checkOut = async (turn: Promise<() => void>) => {
    const end = await turn;
    const client = await pool.connect().catch((error: unknown) => {
      end();
      throw connecting.failed(error);
    });
    connecting.worked();
    const release = client.release.bind(client);
    client.release = (failure?: Error | boolean) => {
      client.release = release;
      release(failure);
      end();
    };
    return client;
  };
  const connect = () => checkOut(queue.takeUnlimited(name));
  const connectFor = (client: string) => checkOut(queue.take(client, currentRequest()));
  const query = async (...args: unknown[]) => {
    const client = await connect();
    try {
      return await (client.query as (...args: unknown[]) => Promise<unknown>)(...args);
    } finally {
      client.release();
    }
  };
  const own: Record<string | symbol, unknown> = { connect, connectFor, query };
  return new Proxy(pool, { get: (target, key, receiver) => own[key] ?? Reflect.get(target, key, receiver) });
}
