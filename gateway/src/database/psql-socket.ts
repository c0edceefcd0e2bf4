import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type pg from 'pg';
import type { Logger } from 'pino';

const IDLE_IN_TRANSACTION_MS = 30_000;
// Types of wire messages that end a round trip: simple query, sync, function call, terminate.
const ENDS_ROUND_TRIP = new Set([...'QSFX'].map((letter) => letter.charCodeAt(0)));

/**
 * Lets psql look into the running embedded engine, through a socket that only its owner can open. The engine has one
 * session: a client gets it for one transaction at a time, in turn with the gateway (it holds the pool's one client
 * meanwhile), and every setting it made is gone afterwards.
 */
export async function servePsql(db: PGlite, pool: pg.Pool, home: string, logger: Logger) {
  const folder = join(home, 'psql');
  const path = join(folder, '.s.PGSQL.5432');
  const url = `postgres://l9_gateway@localhost/postgres?host=${encodeURIComponent(folder)}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  if (Buffer.byteLength(path) > 100) {
    logger.warn({ path }, 'the path of the psql socket is too long for this system: no psql door');
    return { url, close: async () => {} };
  }

  let turn: pg.PoolClient | null = null;
  let idle: NodeJS.Timeout | undefined;

  const endTurn = async () => {
    clearTimeout(idle);
    const client = turn;
    turn = null;
    if (!client) return;
    // What a client set must not reach the next transaction, least of all a role.
    await db
      .exec('reset session authorization; set session authorization l9_gateway; reset all; deallocate all')
      .catch(() => {});
    client.release();
  };

  const queue = {
    waitReady: db.waitReady,
    isInTransaction: () => turn !== null && db.isInTransaction(),
    runExclusive: <T>(work: () => Promise<T>) => work(),
    async execProtocolRawStream(message: Uint8Array, options: { onRawData: (data: Uint8Array) => void }) {
      clearTimeout(idle);
      turn ??= await pool.connect();
      await db.execProtocolRawStream(message, options);
      // A startup message has no type byte; its first byte is 0.
      const ended = message[0] === 0 || ENDS_ROUND_TRIP.has(message[0] ?? 0);
      if (ended && !db.isInTransaction()) return endTurn();
      idle = setTimeout(() => {
        logger.warn('psql was idle in a transaction for too long: rolled back');
        void queue.exec('rollback');
      }, IDLE_IN_TRANSACTION_MS).unref();
    },
    async exec(sql: string) {
      if (turn) await db.exec(sql).catch(() => {});
      await endTurn();
    },
  };

  const server = new PGLiteSocketServer({ db: queue as unknown as PGlite, path, maxConnections: 16 });
  await server.start();
  chmodSync(path, 0o600);
  return {
    url,
    close: async () => {
      await server.stop();
      await queue.exec('rollback');
      rmSync(path, { force: true });
    },
  };
}
