import type { Logger } from 'pino';
import { type Refusal, recordRefusal } from '../audit/refusals.ts';
import { type Identity, toSettings } from '../auth/identity.ts';
import { type Database, inOneTrip, outOfDeadlock } from '../database/index.ts';
import { KnownError, type PublicError, toPublicError } from '../errors.ts';
import type { Embedding, Operation } from './operation.ts';
import { checkStorable } from './storable.ts';

/** A save does not make its caller wait longer than this to hear of memories that say nearly the same. */
const COMPLETE_WITHIN_MS = 500;

export type Outcome =
  | {
      output: unknown;
      /** The output with what takes looking for; asked for only where it is wanted. */
      complete: () => Promise<unknown>;
      error: null;
    }
  | { output: null; error: PublicError };

/** Runs an operation as a caller. A refusal leaves its audit row, whichever door it came through. */
export type Perform = (operation: Operation, identity: Identity, toolName: string, input: unknown) => Promise<Outcome>;

export interface PerformContext {
  database: Database;
  logger: Logger;
  embedding: Embedding;
  /** Reads anew which embedding model serves. */
  refreshModels: () => Promise<void>;
  /** Called when something may wait for its vectors. */
  onEnqueued: () => void;
}

export function createPerform({ database, logger, embedding, refreshModels, onEnqueued }: PerformContext): Perform {
  async function complete(operation: Operation, settings: Record<string, string>, output: unknown): Promise<unknown> {
    const completion = operation.complete?.(output);
    if (!completion) return output;
    const limited = { ...settings, statement_timeout: `${COMPLETE_WITHIN_MS}ms`, synchronous_commit: 'off' };
    try {
      const prepared = await completion.prepare(embedding);
      return await inOneTrip(database.pool, limited, (client) => completion.run(client, prepared));
    } catch (error) {
      logger.info(
        { sqlstate: (error as { code?: string }).code },
        'an answer was given without what was left to find out',
      );
      return output;
    }
  }

  return async (operation, identity, toolName, rawInput) => {
    const settings = toSettings(identity, toolName);
    try {
      const input = parseInput(operation, rawInput);
      // What a read leaves behind is its audit row: losing the last few in a power cut beats a disk flush per search.
      const lasting = operation.isReadOnly ? { ...settings, synchronous_commit: 'off' } : settings;
      const attempt = async (isLast: boolean): Promise<unknown> => {
        const prepared = (await operation.prepare?.(input, embedding)) ?? null;
        const isOvertaken = (result: { output: unknown } | { error: unknown }) =>
          !isLast && operation.isOvertaken?.(prepared, result) === true;
        try {
          const output = await outOfDeadlock(() =>
            inOneTrip(database.pool, lasting, (client) => operation.run(client, input, prepared)),
          );
          if (!isOvertaken({ output })) return output;
        } catch (error) {
          if (!isOvertaken({ error })) throw error;
        }
        await refreshModels();
        return attempt(true);
      };
      const output = await attempt(false);
      if (operation.enqueuesEmbeddings) onEnqueued();
      return { output, complete: () => complete(operation, settings, output), error: null };
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
