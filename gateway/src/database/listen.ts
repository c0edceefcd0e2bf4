// Notifications from a PostgreSQL server, on a separate connection that is reopened whenever it breaks.
import { setTimeout as sleep } from 'node:timers/promises';
import { ExponentialBackoff } from 'cockatiel';
import pg from 'pg';
import type { Logger } from 'pino';
import { sqlstateOf } from '../base/errors.ts';

/** Not all gateways come back at once: the waits are random. */
const WAITS = new ExponentialBackoff({ initialDelay: 250, maxDelay: 10_000 });

/**
 * Calls back at each notification on the channel, and after each reconnect, because notifications in between are lost.
 * Resolves, after the first attempt to listen, to a function that stops it.
 */
export async function listenOnServer(
  url: string,
  channel: string,
  logger: Logger,
  onNotify: () => void,
): Promise<() => Promise<void>> {
  const stopped = new AbortController();
  let client: pg.Client | null = null;

  /** Resolves when the connection has ended. */
  async function session(onListening: () => void): Promise<void> {
    const connection = new pg.Client({
      connectionString: url,
      application_name: 'l9-memory listen',
      connectionTimeoutMillis: 10_000,
      // An idle connection that dies must be noticed.
      keepAlive: true,
    });
    const ended = new Promise<void>((resolve) => {
      connection.once('end', resolve).once('error', () => resolve());
    });
    client = connection;
    connection.on('error', () => {});
    connection.on('notification', onNotify);
    try {
      // pg leaves connect() pending where end() comes in between. The query fails then.
      await Promise.race([connection.connect(), ended]);
      await connection.query(`listen ${pg.escapeIdentifier(channel)}`);
      onListening();
      await ended;
    } finally {
      client = null;
      await connection.end().catch(() => {});
    }
  }

  async function run(onFirst: () => void): Promise<void> {
    let wait = WAITS.next();
    let isFirst = true;
    while (!stopped.signal.aborted) {
      await session(() => {
        wait = WAITS.next();
        if (isFirst) onFirst();
        else onNotify();
      }).catch((error: Error) => {
        if (stopped.signal.aborted) return;
        logger.warn({ code: sqlstateOf(error), channel }, 'not listening for database notifications; will reconnect');
      });
      onFirst();
      isFirst = false;
      await sleep(wait.duration, null, { signal: stopped.signal, ref: false }).catch(() => {});
      wait = wait.next(undefined);
    }
  }

  let running: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve) => {
    running = run(resolve);
  });
  return async () => {
    stopped.abort();
    await client?.end().catch(() => {});
    await running;
  };
}
