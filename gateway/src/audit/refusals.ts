import type { Logger } from 'pino';
import { type Identity, toSettings } from '../auth/identity.ts';
import { isOutage, type KnownError, type PublicError, sqlstateOf, toPublicError } from '../base/errors.ts';
import { currentRequestId } from '../base/logger.ts';
import type { Database } from '../database/index.ts';
import { callInTransaction } from '../database/transaction.ts';
import type { RefusalLog } from './refusal-log.ts';
import { createRepeats } from './repeats.ts';

export interface Refusal {
  /** The requested operation, as audit_log names it; DENIED if it is unknown. */
  operation: string;
  packetId?: string | null;
  projectId?: string | null;
  scope?: string | null;
  /** Names of what was called. Never contents. */
  details?: Readonly<Record<string, unknown>>;
}

type Cause = Pick<PublicError, 'sqlstate' | 'code' | 'field'>;

export interface Refusals {
  /**
   * Audits a call that was refused or failed. Its own transaction has rolled back together with any audit row in it. Errors that
   * say that the database can't do anything now leave no record.
   */
  record(identity: Identity, toolName: string, refusal: Refusal, error: Cause): Promise<void>;
  close(): Promise<void>;
}

/** How many refusals of a caller, tool, SQLSTATE and field have a row of their own, each minute. */
export const FIRST_OF_KIND = 100;
/** The same for all refusals of a caller: names of fields are up to the caller. */
const ROWS_OF_CALLER = 1_000;
const KINDS_OF_CALLER = 100;

interface Refused {
  identity: Identity;
  toolName: string;
  refusal: Refusal;
  error: Cause;
}

/** Beyond the first of a minute, refusals of a kind share one row with their number, so that no caller can fill the disk with them. */
export function createRefusals(database: Database, logger: Logger): Refusals {
  const repeats = createRepeats<Refused>({
    kindOf: ({ identity: { orgId, userId, keyId }, toolName, refusal: { operation }, error: { sqlstate, field } }) =>
      JSON.stringify([orgId, userId, keyId, toolName, operation, sqlstate, field]),
    groupOf: ({ identity: { tenantId, caller } }) => JSON.stringify([tenantId, caller]),
    others: (refused) => ({
      identity: { ...refused.identity, orgId: null, userId: null, keyId: null },
      toolName: 'several tools',
      refusal: { operation: 'DENIED' },
      error: { ...refused.error, field: null },
    }),
    write: (refused, times) => write(database, refused, times),
    isTemporary: (error) => isOutage(sqlstateOf(error)),
    onLost: ({ toolName, error: { sqlstate } }, times, failure) =>
      logger.error(
        { sqlstate: sqlstateOf(failure), refused: sqlstate, tool: toolName, times },
        'could not audit refused calls',
      ),
    first: FIRST_OF_KIND,
    maxRows: ROWS_OF_CALLER,
    maxKinds: KINDS_OF_CALLER,
  });
  return {
    async record(identity, toolName, refusal, error) {
      if (!isOutage(error.sqlstate)) await repeats.add({ identity, toolName, refusal, error });
    },
    close: repeats.close,
  };
}

async function write(database: Database, { identity, toolName, refusal, error }: Refused, times: number) {
  const isOne = times === 1;
  const details = {
    ...(isOne ? refusal.details : { times }),
    code: error.code,
    ...(error.field ? { field: error.field } : {}),
  };
  const recorder = {
    ...identity,
    // A key that is cut down to some tool sets has no identity for other tools, whose refusal must be recorded, too.
    toolSet: identity.toolSets?.[0] ?? null,
    // Several refusals have nothing of a single call.
    ...(isOne ? {} : { correlationId: null, sessionId: null, traceId: null }),
  };
  const values = [
    refusal.operation,
    isOne ? (refusal.packetId ?? null) : null,
    isOne ? (refusal.projectId ?? null) : null,
    isOne ? (refusal.scope ?? null) : null,
    error.sqlstate,
    JSON.stringify(details),
  ];
  await callInTransaction(database.pool, 'audit.audit_refusal', [{ settings: toSettings(recorder, toolName), values }]);
}

/** Audits a call that matches no operation, and returns the error for the caller. */
export const createRefuse =
  (refusals: Pick<Refusals, 'record'>, logger: Logger, refusalLog: Pick<RefusalLog, 'add'>) =>
  async (identity: Identity, toolName: string, cause: KnownError): Promise<PublicError> => {
    const error = toPublicError(cause, logger);
    // The name is up to the caller.
    refusalLog.add({ called: { api: 'mcp' }, error, requestId: currentRequestId() });
    await refusals
      .record(identity, toolName, { operation: 'DENIED' }, error)
      .catch((failure: unknown) =>
        logger.error({ sqlstate: sqlstateOf(failure), tool: toolName }, 'could not audit a refused call'),
      );
    return error;
  };
