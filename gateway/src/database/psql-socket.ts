import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type Engine, resetSession } from './engine.ts';
import { errorMessage, greeting, message, messageReader, roleOf, texts, type WireMessage } from './wire.ts';

const IDLE_IN_TRANSACTION_MS = 30_000;
const MAX_CLIENTS = 16;
// The parameters that a server reports to a new client.
const REPORTED = [
  'client_encoding',
  'DateStyle',
  'default_transaction_read_only',
  'in_hot_standby',
  'integer_datetimes',
  'IntervalStyle',
  'is_superuser',
  'scram_iterations',
  'server_encoding',
  'server_version',
  'standard_conforming_strings',
  'TimeZone',
];
// Sent after every statement: a COPY FROM STDIN would wait for rows forever. Other statements ignore it.
const REFUSE_COPY = message(
  'f',
  'the embedded engine does not support COPY FROM STDIN; use insert or `l9-memory import`',
);

// Statements that end one session on a server would end the embedded engine and the gateway. This guards against
// accidents, not against the owner of the folder.
const ENDS_ENGINE =
  /\b(transaction_timeout|idle_session_timeout|idle_in_transaction_session_timeout|pg_terminate_backend)\b/i;
const REFUSAL = `do 'begin raise exception using errcode = ''0A000'', message = ''not on the embedded engine: it would end with this session''; end'`;

/** Where the socket of a home folder is, and how to connect to it. */
export function psqlSocket(home: string) {
  const folder = join(home, 'psql');
  const url = `postgres://l9_gateway@localhost/postgres?host=${encodeURIComponent(folder)}`;
  return { folder, path: join(folder, '.s.PGSQL.5432'), url };
}

/** True if a server listens at this path, however busy it is. A server that was killed leaves its socket file behind. */
export const isListening = (path: string) =>
  new Promise<boolean>((resolve) => {
    const connection = createConnection(path);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });

function replaceIfItEndsTheEngine(type: string, bytes: Buffer): Buffer {
  if (type === 'Q') return ENDS_ENGINE.test(texts(bytes, 1)[0]!) ? message('Q', REFUSAL) : bytes;
  if (type !== 'P') return bytes;
  const [name, query] = texts(bytes, 2);
  return ENDS_ENGINE.test(query!) ? message('P', name!, REFUSAL, Buffer.alloc(2)) : bytes;
}

export interface PsqlOptions {
  /** Called before each turn, once the session is the client's. */
  onTurnStart?: () => Promise<void>;
  /** Called after each turn, when prepared statements and listeners of the client have been removed. */
  onTurnEnd?: (client: pg.PoolClient) => Promise<void>;
  idleInTransactionMs?: number;
}

/**
 * Gives psql access to the running embedded engine, through a socket that only the owner of the folder can open. The
 * engine has one session: a client gets it for one transaction at a time, and holds the only client of the pool meanwhile.
 * Its role, settings, temporary tables and locks are removed when its turn ends.
 *
 * `@electric-sql/pglite-socket`, which serves the one client that migrates, does not do here: it passes messages of several
 * clients straight into that session, which the gateway uses too. Roles and settings that one leaves behind would hold for the
 * others, prepared statements of one name would collide, a transaction left open would block the gateway, each client would be a
 * superuser, and COPY FROM STDIN or a session timeout would end the engine.
 *
 * The engine is started by its superuser, so within its turn a client can become one (`set session authorization
 * postgres`), as could anyone who may read the data folder. That ends with the turn, too.
 */
export async function servePsql(
  current: () => Engine,
  pool: pg.Pool,
  home: string,
  logger: Logger,
  {
    onTurnStart = async () => {},
    onTurnEnd = async () => {},
    idleInTransactionMs = IDLE_IN_TRANSACTION_MS,
  }: PsqlOptions = {},
) {
  const { folder, path, url } = psqlSocket(home);
  if (Buffer.byteLength(path) > 100) {
    logger.warn({ path }, 'psql is unavailable: the path of its socket is too long for this system');
    return { url, close: async () => {} };
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  const parameters = await pool.query<{ name: string; setting: string }>(
    'select name, setting from pg_catalog.pg_settings where name = any ($1)',
    [REPORTED],
  );
  const welcome = greeting({
    ...Object.fromEntries(parameters.rows.map(({ name, setting }) => [name, setting])),
    session_authorization: 'l9_gateway',
  });
  const sessions = new Set<{ end(): Promise<void> }>();

  function openSession(socket: Socket) {
    const read = messageReader();
    // Messages since the last round trip are sent to the engine together, so that no other client's come between them.
    let batch: Buffer[] = [];
    let turn: pg.PoolClient | null = null;
    let idle: NodeJS.Timeout | undefined;
    let isOpen = true;
    let role: string | null = null;
    // Named statements end with the turn, but the client expects them to last, so they are prepared again in the next turn:
    // the messages that prepared them, those that this turn has, and those that it must prepare before the batch.
    const statements = new Map<string, Buffer>();
    const prepared = new Set<string>();
    const toPrepare = new Set<string>();

    const send = (bytes: Uint8Array) => {
      if (socket.writable) socket.write(bytes);
    };

    async function endTurn() {
      clearTimeout(idle);
      const client = turn;
      turn = null;
      if (!client) return;
      prepared.clear();
      let failure: Error | undefined;
      try {
        await resetSession(current());
        await onTurnEnd(client);
      } catch (error) {
        failure = error as Error;
        logger.error({ name: failure.name }, 'could not reset the session after psql');
      }
      client.release(failure);
    }

    const session = {
      async end() {
        if (!isOpen) return;
        isOpen = false;
        sessions.delete(session);
        socket.destroySoon();
        await endTurn();
      },
    };

    const execute = (bytes: Buffer, onData: (part: Buffer) => void) => current().execute(bytes, onData);
    /** For what the client did not ask for, and so gets no answer to but an error. */
    const prepare = (bytes: Buffer) =>
      execute(bytes, (data) => {
        if (data[0] === 'E'.charCodeAt(0)) send(data);
      });

    async function roundTrip(isWhole: boolean) {
      const bytes = Buffer.concat(batch);
      batch = [];
      clearTimeout(idle);
      if (!turn) {
        turn = await pool.connect();
        await onTurnStart();
        if (role) await prepare(message('Q', `set role ${role}`));
      }
      if (!isOpen) return endTurn();
      for (const name of toPrepare) {
        toPrepare.delete(name);
        await prepare(statements.get(name)!);
      }
      await execute(bytes, send);
      if (isWhole && !current().isInTransaction()) return endTurn();
      idle = setTimeout(() => {
        logger.warn('psql was idle in a transaction for too long; rolled back and disconnected');
        send(errorMessage('FATAL', '25P03', 'terminating connection due to idle-in-transaction timeout'));
        void session.end();
      }, idleInTransactionMs).unref();
    }

    const need = (name: string) => {
      if (!statements.has(name) || prepared.has(name)) return;
      prepared.add(name);
      toPrepare.add(name);
    };

    /** The types of messages are letters: P parses a statement, B binds it, D describes it, C closes it, E executes it, S ends the batch. */
    async function handle({ type, bytes: given }: WireMessage) {
      const bytes = replaceIfItEndsTheEngine(type, given);
      switch (type) {
        case 'encrypt':
          return send(Buffer.from('N'));
        case 'startup':
          role = roleOf(bytes);
          return send(welcome);
        case 'cancel': // The engine has one thread, so nothing can interrupt its statement.
        case 'X':
          return session.end();
        case 'P': {
          const [name] = texts(bytes, 1);
          if (name) {
            statements.set(name, bytes);
            prepared.add(name);
          }
          break;
        }
        case 'B':
          need(texts(bytes, 2)[1]!);
          break;
        case 'D':
        case 'C': {
          // Both name a statement (S) or a portal, which ends with its transaction.
          if (bytes[5] !== 'S'.charCodeAt(0)) break;
          const [name] = texts(bytes, 1, 1);
          if (type === 'D') need(name!);
          else {
            statements.delete(name!);
            prepared.delete(name!);
          }
          break;
        }
        case 'd':
        case 'c':
        case 'f':
          // Rows of a refused COPY are ignored.
          return;
      }
      batch.push(bytes);
      if (type === 'Q' || type === 'E') batch.push(REFUSE_COPY);
      if (type === 'Q' || type === 'F' || type === 'S') await roundTrip(true);
      else if (type === 'H') await roundTrip(false);
    }

    let tail = Promise.resolve();
    socket.on('data', (chunk) => {
      socket.pause();
      tail = tail.then(async () => {
        try {
          for (const one of read(chunk)) {
            if (!isOpen) return;
            await handle(one);
          }
          socket.resume();
        } catch (error) {
          logger.error({ name: (error as Error).name }, 'a psql session failed');
          send(errorMessage('FATAL', '08P01', (error as Error).message));
          await session.end();
        }
      });
    });
    const gone = () => {
      tail = tail.then(session.end);
    };
    socket.on('error', gone);
    socket.on('close', gone);
    sessions.add(session);
  }

  const server = createServer((socket) => {
    if (sessions.size < MAX_CLIENTS) return openSession(socket);
    socket.end(errorMessage('FATAL', '53300', 'sorry, too many clients already'));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  return {
    url,
    close: async () => {
      server.close();
      await Promise.all([...sessions].map((session) => session.end()));
      rmSync(path, { force: true });
    },
  };
}
