import pg from 'pg';
import type { Logger } from 'pino';
import { KnownError, SQLSTATE, sqlstateOf } from '../base/errors.ts';
import { diskFull } from './disk.ts';
import { EngineEnded } from './engine.ts';
import type { Connecting } from './fair-pool.ts';

const SYSTEM_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
// Connection exceptions, too many connections, a server that shuts down, crashed or starts, and one that is a replica now.
const SQLSTATES = /^(08...|53300|57P0[123]|25006)$/;
// pg gives these errors no code.
const TEXTS =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/;

const away = () => new KnownError('L9BSY', 'the database is away or restarting', null, 'Try again in a second.');

/** Whether the error says that nobody answers there now. Where every address of a host refuses, it has the code of one of them. */
export function isAway(error: unknown): boolean {
  const code = sqlstateOf(error) ?? '';
  return SYSTEM_ERRORS.has(code) || SQLSTATES.test(code) || (!code && TEXTS.test((error as Error).message));
}

const isFatal = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && error.severity === 'FATAL';

// PostgreSQL ends this one connection, and the next one may well work.
const ENDED_BY_SERVER = /^57P0[12]$/;
// The connections of the pooler are in use: it reports by other errors that it gets none.
const IN_USE = /^query_wait_timeout/;

/** Whether a pooler says by this error that it gets no connection to the server. */
export const isFromPooler = (error: unknown): boolean =>
  isFatal(error) && !ENDED_BY_SERVER.test(error.code ?? '') && !IN_USE.test(error.message);

/** L9BSY if the error says that the database is away or that the connection broke, L9DSK if its disk is full, else the error. */
export function asOutage(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof KnownError) return error;
  const code = sqlstateOf(error) ?? '';
  if (code === SQLSTATE.diskFull) return diskFull();
  // A fatal error ends its connection. A pooler also passes on with it why it gets no connection to the server.
  return isFatal(error) || error instanceof EngineEnded || isAway(error) ? away() : error;
}

/**
 * When the gateway gets no connection, callers can only try again, whatever the cause (a database that was dropped or takes no
 * connections, a password that was changed). The log gets each code once, and when it is over, not one line for each call.
 */
export function watchConnecting(logger: Logger): Connecting {
  const codes = new Set<string>();
  return {
    worked() {
      if (codes.size > 0) logger.info('connected to the database again');
      codes.clear();
    },
    failed(error) {
      const code = sqlstateOf(error) ?? (error as Error).message;
      if (!codes.has(code))
        logger.error({ code }, 'cannot connect to the database: calls are refused until it works again');
      codes.add(code);
      if (error instanceof KnownError) return error;
      return code === SQLSTATE.diskFull ? diskFull() : away();
    },
  };
}
