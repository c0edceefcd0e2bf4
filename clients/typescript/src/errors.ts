import type { ErrorCode, JsonObject } from './generated.ts';

/** An error of GraphQL as the server answers it. */
export interface GraphqlError {
  message: string;
  path?: (string | number)[];
  extensions?: {
    code?: string;
    sqlstate?: string;
    field?: string;
    hint?: string;
    retryAfterSeconds?: number;
    findings?: SecretFinding[];
    current?: JsonObject;
    errorId?: string;
  };
}

/** Where something that looks like a secret stands; the text itself is never told. */
export interface SecretFinding {
  pattern: string;
  path: string;
  line: number;
  column: number;
}

interface Details {
  code: ErrorCode;
  status?: number | null;
  errors?: GraphqlError[];
  data?: unknown;
  retryAfterSeconds?: number | null;
  cause?: unknown;
}

/**
 * Why a call failed. `code` is one of the documented errors of l9-memory, or `UNREACHABLE` where no server of l9-memory answered, or
 * `TIMEOUT`. A call that was ended by its own abort signal rejects with the reason of the signal instead.
 */
export class L9MemoryError extends Error {
  override readonly name = 'L9MemoryError';
  /** What went wrong, such as `INVALID_INPUT`. */
  readonly code: ErrorCode;
  /** The field that the error is about, as the request spells it, such as `projectId`; null where it is about none. */
  readonly field: string | null;
  /** The code in PostgreSQL, such as `L9VAL`. */
  readonly sqlstate: string | null;
  /** What to do, where the server knows more than the message says. */
  readonly hint: string | null;
  /** The HTTP status; null where there was no answer. */
  readonly status: number | null;
  /** After how many seconds the same call may succeed; null for errors that stay. */
  readonly retryAfterSeconds: number | null;
  /** Of `SECRET_FOUND`: where it is. */
  readonly findings: SecretFinding[];
  /** The error VERSION_CONFLICT carries the memory as it is now: its `packet_id`, `updated_at` and `content`. */
  readonly current: JsonObject | null;
  /** All errors of the answer, the first of which this one is. */
  readonly errors: GraphqlError[];
  /** What a request of several fields answered beside the errors. */
  readonly data: unknown;

  constructor(message: string, details: Details) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const extensions = details.errors?.[0]?.extensions ?? {};
    this.code = details.code;
    this.field = extensions.field ?? null;
    this.sqlstate = extensions.sqlstate ?? null;
    this.hint = extensions.hint ?? null;
    this.status = details.status ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? extensions.retryAfterSeconds ?? null;
    this.findings = extensions.findings ?? [];
    this.current = extensions.current ?? null;
    this.errors = details.errors ?? [];
    this.data = details.data ?? null;
  }
}
