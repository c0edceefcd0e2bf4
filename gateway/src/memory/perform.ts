import type { Logger } from 'pino';
import { type Refusal, recordRefusal } from '../audit/refusals.ts';
import { type Identity, toSettings } from '../auth/identity.ts';
import { type Database, inOneTrip } from '../database/index.ts';
import { KnownError, type PublicError, toPublicError } from '../errors.ts';
import type { EmbedQuery, Operation } from './operations.ts';
import { checkStorable } from './storable.ts';

export type Outcome = { output: unknown; error: null } | { output: null; error: PublicError };

/** Runs an operation as a caller. A refusal leaves its audit row, whichever door it came through. */
export type Perform = (operation: Operation, identity: Identity, toolName: string, input: unknown) => Promise<Outcome>;

export interface PerformContext {
  database: Database;
  logger: Logger;
  embedQuery: EmbedQuery;
  /** Called when something may wait for its vectors. */
  onEnqueued: () => void;
}

export function createPerform({ database, logger, embedQuery, onEnqueued }: PerformContext): Perform {
  return async (operation, identity, toolName, rawInput) => {
    const settings = toSettings(identity, toolName);
    try {
      const input = parseInput(operation, rawInput);
      const prepared = await operation.prepare?.(input, embedQuery);
      // What a read leaves behind is its audit row: losing the last few in a power cut beats a disk flush per search.
      const lasting = operation.isReadOnly ? { ...settings, synchronous_commit: 'off' } : settings;
      const output = await inOneTrip(database.pool, lasting, (client) => operation.run(client, input, prepared));
      if (operation.enqueuesEmbeddings) onEnqueued();
      return { output, error: null };
    } catch (cause) {
      const error = toPublicError(cause, logger);
      await recordRefusal(database, identity, toolName, asked(operation, rawInput), error).catch((failure: unknown) => {
        logger.error(
          { sqlstate: (failure as { code?: string }).code, tool: toolName },
          'a refusal could not be recorded',
        );
      });
      return { output: null, error };
    }
  };
}

function parseInput(operation: Operation, rawInput: unknown) {
  checkStorable(rawInput);
  const parsed = operation.input.safeParse(rawInput ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.code === 'unrecognized_keys' ? issue.keys[0]?.slice(0, 100) : issue?.path.join('.');
  const message = issue?.code === 'unrecognized_keys' ? 'not a field of this operation' : issue?.message;
  throw new KnownError('L9VAL', `${field || 'input'}: ${message}`, field || null);
}

const text = (value: unknown) => (typeof value === 'string' ? value : null);
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** What was asked for, as far as it can be read. */
function asked(operation: Operation, rawInput: unknown): Refusal {
  const given = (typeof rawInput === 'object' && rawInput !== null ? rawInput : {}) as Record<string, unknown>;
  const packetId = text(given.packet_id);
  return {
    operation: operation.audit,
    packetId: packetId && UUID.test(packetId) ? packetId : null,
    projectId: text(given.project_id),
    scope: text(given.scope),
  };
}
