// The documented errors (docs/reference/errors.md): raised by the database with these SQLSTATEs, or here with the same.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';

export interface ErrorKind {
  /** GraphQL `extensions.code`, and the first word of an MCP error. */
  code: string;
  httpStatus: number;
}

export const errorKinds: Readonly<Record<string, ErrorKind>> = {
  L9SCP: { code: 'SCOPE_DENIED', httpStatus: 403 },
  L9OWN: { code: 'NOT_YOURS', httpStatus: 404 },
  L9SEC: { code: 'SECRET_FOUND', httpStatus: 422 },
  L9IMM: { code: 'IMMUTABLE', httpStatus: 409 },
  L9VER: { code: 'VERSION_CONFLICT', httpStatus: 409 },
  L9VAL: { code: 'INVALID_INPUT', httpStatus: 400 },
  L9LIM: { code: 'LIMIT_EXCEEDED', httpStatus: 413 },
  L9KEY: { code: 'KEY_ERROR', httpStatus: 500 },
  L9INT: { code: 'INTEGRITY_ERROR', httpStatus: 500 },
  L9AUT: { code: 'UNAUTHENTICATED', httpStatus: 401 },
  L9BSY: { code: 'BUSY', httpStatus: 503 },
  L9RAT: { code: 'RATE_LIMITED', httpStatus: 429 },
  L9DSK: { code: 'DISK_FULL', httpStatus: 507 },
};

/** The SQLSTATEs that the gateway itself acts on: its own, then those of PostgreSQL. */
export const SQLSTATE = {
  invalidInput: 'L9VAL',
  busy: 'L9BSY',
  noIdentity: 'L9AUT',
  rateLimited: 'L9RAT',
  secretFound: 'L9SEC',
  versionConflict: 'L9VER',
  noRoom: 'L9DSK',
  diskFull: '53100',
  lockNotAvailable: '55P03',
  deadlock: '40P01',
  invalidParameter: '22023',
  undefinedObject: '42704',
  insufficientPrivilege: '42501',
  queryCanceled: '57014',
  readOnly: '25006',
  recoveryConflict: '40001',
} as const;

// After so many seconds a call that was refused with L9BSY may succeed.
const BUSY_FOR_SECONDS = 1;

/** Errors that say that the database can't do anything now, not even record them. */
export const isOutage = (sqlstate: string | undefined) => sqlstate === SQLSTATE.busy || sqlstate === SQLSTATE.noRoom;

/** Refusals of requests that reach no operation. They are recorded together, with their number, not one by one. */
export const isCounted = (sqlstate: string) => sqlstate === SQLSTATE.noIdentity || sqlstate === SQLSTATE.rateLimited;

/** The SQLSTATE of an error from PostgreSQL, or the code of a system error such as ECONNREFUSED. */
export function sqlstateOf(error: unknown): string | undefined {
  if (error instanceof KnownError) return error.sqlstate;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** Where something that looks like a secret stands. The text itself is never told. */
export interface Finding {
  pattern: string;
  /** The field, and the path in it. */
  path: string;
  /** Both from 1. */
  line: number;
  column: number;
}

/** A memory as it is, where a write expected another version. */
export interface CurrentMemory {
  packet_id: string;
  updated_at: string;
  content: string;
}

/** An error that may be shown to the caller. */
export class KnownError extends Error {
  readonly sqlstate: string;
  readonly field: string | null;
  readonly hint: string | null;
  /** After how many seconds the call may succeed; null for errors that stay. */
  retryAfterSeconds: number | null;
  /** Of a refused caller: whom the token or key belongs to, if it was valid. */
  claimed: { tenantId: string; caller: string } | null = null;
  /** Of L9SEC: what was found. */
  findings: Finding[] | null = null;
  /** Of L9VER: the memory that has changed. */
  changedId: string | null = null;

  constructor(sqlstate: string, message: string, field: string | null = null, hint: string | null = null) {
    super(message);
    this.sqlstate = sqlstate;
    this.field = field || null;
    this.hint = hint || null;
    this.retryAfterSeconds = sqlstate === SQLSTATE.busy ? BUSY_FOR_SECONDS : null;
  }

  /** The same error for a call that may succeed after so many seconds. */
  after(seconds: number): this {
    this.retryAfterSeconds = seconds;
    return this;
  }
}

export interface PublicError {
  sqlstate: string;
  code: string;
  message: string;
  field: string | null;
  hint: string | null;
  httpStatus: number;
  /** After how many seconds the call may succeed: the header Retry-After. */
  retryAfterSeconds: number | null;
  /** Of SECRET_FOUND: where it is. */
  findings?: Finding[] | null;
  /** Of VERSION_CONFLICT: what is there now, if the caller may read it. */
  current?: CurrentMemory | null;
  /** Of a masked error: the id under which it is in the log. */
  errorId?: string;
}

interface DatabaseError {
  code?: unknown;
  message?: unknown;
  column?: unknown;
  hint?: unknown;
  detail?: unknown;
  constraint?: unknown;
}

// Errors of PostgreSQL itself that a caller can cause. Their texts may quote values, so they are not passed on.
function fromPostgres(sqlstate: string, error: DatabaseError): KnownError | null {
  if (sqlstate === SQLSTATE.insufficientPrivilege) return new KnownError('L9SCP', 'permission denied for your role');
  if (sqlstate === SQLSTATE.queryCanceled)
    return new KnownError('L9LIM', 'the request took too long and was cancelled', null, 'Ask for less.');
  if (sqlstate === '23514' || sqlstate === '23505' || sqlstate === '23502' || sqlstate === '23503') {
    return new KnownError(
      'L9VAL',
      `a constraint of the table is violated: ${String(error.constraint ?? error.column ?? 'not null')}`,
    );
  }
  if (sqlstate.startsWith('54')) return new KnownError('L9LIM', 'a value is too large or too deeply nested');
  if (sqlstate.startsWith('22')) return new KnownError('L9VAL', 'a value is malformed or out of range');
  return null;
}

/** What the caller may know about an error. Other errors are logged under an id, and the caller gets the id. */
export function toPublicError(error: unknown, logger: Logger): PublicError {
  const known = toKnownError(error);
  if (known) {
    const kind = errorKinds[known.sqlstate] as ErrorKind;
    const { sqlstate, message, field, hint, retryAfterSeconds, findings } = known;
    return { sqlstate, ...kind, message, field, hint, retryAfterSeconds, ...(findings && { findings }) };
  }
  const errorId = randomUUID();
  const { code, message, stack } = (error ?? {}) as { code?: unknown; message?: unknown; stack?: unknown };
  // Only the code of a database error is safe to log: its text and detail can quote contents.
  const isDatabaseError = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
  logger.error({ errorId, sqlstate: code, ...(isDatabaseError ? {} : { message, stack }) }, 'unexpected error');
  return {
    sqlstate: isDatabaseError ? code : 'XX000',
    code: 'INTERNAL',
    message: `something went wrong on our side (error ${errorId})`,
    field: null,
    hint: null,
    httpStatus: 500,
    retryAfterSeconds: null,
    errorId,
  };
}

function toKnownError(error: unknown): KnownError | null {
  if (error instanceof KnownError) return error;
  const { code, message, column, hint, detail } = (error ?? {}) as DatabaseError;
  if (typeof code !== 'string') return null;
  if (code in errorKinds) {
    const known = new KnownError(code, String(message), column ? String(column) : null, hint ? String(hint) : null);
    if (code === SQLSTATE.secretFound && detail) known.findings = JSON.parse(String(detail));
    if (code === SQLSTATE.versionConflict && detail) known.changedId = JSON.parse(String(detail)).packet_id;
    return known;
  }
  return fromPostgres(code, error as DatabaseError);
}

/** Of an error that a memory has changed since it was read: its id. */
export const changedIdOf = (error: unknown): string | null => toKnownError(error)?.changedId ?? null;

/** Whether nothing was changed for certain: not so where a connection was lost, because the commit may have gone through. */
export function isRefusal(error: unknown): boolean {
  const known = toKnownError(error);
  return known !== null && !isOutage(known.sqlstate);
}

/** `extensions` of a GraphQL error. */
export function errorExtensions(error: PublicError) {
  return {
    code: error.code,
    sqlstate: error.sqlstate,
    ...(error.field ? { field: error.field } : {}),
    ...(error.hint ? { hint: error.hint } : {}),
    ...(error.retryAfterSeconds ? { retryAfterSeconds: error.retryAfterSeconds } : {}),
    ...(error.findings ? { findings: error.findings } : {}),
    ...(error.current ? { current: error.current } : {}),
    ...(error.errorId ? { errorId: error.errorId } : {}),
  };
}

/** The text of an error in MCP. */
export const mcpText = ({ code, sqlstate, message, hint }: PublicError): string =>
  `${code} (${sqlstate}): ${message}${hint ? `. ${hint}` : ''}`;
