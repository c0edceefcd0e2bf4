import type { Logger } from 'pino';
import { type Identity, toSettings } from '../auth/identity.ts';
import type { Database } from '../database/index.ts';
import { callInTransaction } from '../database/transaction.ts';
import { type KnownError, type PublicError, sqlstateOf, toPublicError } from '../errors.ts';

export interface Refusal {
  /** The requested operation, as audit_log names it; DENIED if it is unknown. */
  operation: string;
  packetId?: string | null;
  projectId?: string | null;
  scope?: string | null;
  /** Names of what was called. Never contents. */
  details?: Readonly<Record<string, unknown>>;
}

/** Audits a call that was refused or failed. Its own transaction has rolled back together with any audit row in it. */
export async function recordRefusal(
  database: Database,
  identity: Identity,
  toolName: string,
  refusal: Refusal,
  error: Pick<PublicError, 'sqlstate' | 'code' | 'field'>,
): Promise<void> {
  const details = { ...refusal.details, code: error.code, ...(error.field ? { field: error.field } : {}) };
  // A key that is cut down to some tool sets has no identity for other tools, whose refusal must be recorded, too.
  const recorder = { ...identity, toolSet: identity.toolSets?.[0] ?? null };
  await callInTransaction(database.pool, toSettings(recorder, toolName), 'audit.audit_refusal', [
    refusal.operation,
    refusal.packetId ?? null,
    refusal.projectId ?? null,
    refusal.scope ?? null,
    error.sqlstate,
    JSON.stringify(details),
  ]);
}

/** Audits a call that matches no operation, and returns the error for the caller. */
export const createRefuse =
  (database: Database, logger: Logger) =>
  async (identity: Identity, toolName: string, cause: KnownError): Promise<PublicError> => {
    const error = toPublicError(cause, logger);
    await recordRefusal(database, identity, toolName, { operation: 'DENIED' }, error).catch((failure: unknown) =>
      logger.error({ sqlstate: sqlstateOf(failure), tool: toolName }, 'could not audit a refused call'),
    );
    return error;
  };
