// Calls of operations on behalf of a client of MCP, whether it called a tool, read a resource or got a prompt: all take this road.
import { z } from 'zod';
import type { Identity } from '../auth/identity.ts';
import { KnownError, type PublicError } from '../base/errors.ts';
import { shownName } from '../input/echo.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import type { Inferred } from '../operations/inferred-project.ts';
import { type AnyOperation, requireToolSet } from '../operations/operation.ts';
import type { Call, CallTools } from '../recall/recall.ts';
import { todaysCall } from './older-calls.ts';
import { operationOf } from './tools.ts';

export interface McpDependencies {
  execute: ExecuteOperation;
  /** Audits a call of something that is not there, or that the key may not call. */
  refuse: (identity: Identity, toolName: string, error: KnownError) => Promise<PublicError>;
}

export type Called =
  | { error: PublicError }
  | { error: null; output: Record<string, unknown>; summary: string; inferred: Inferred | null };

/** What one client may do. */
export interface Calls {
  identity: Identity;
  /** Calls an operation by the name of its tool, of today or of an older server. */
  call(tool: string, given?: Record<string, unknown>): Promise<Called>;
  /** Runs an operation that is no tool. */
  run(operation: AnyOperation, given?: Record<string, unknown>): Promise<Called>;
  /** Audits that there is no such thing, and returns the error. */
  refuse(name: string, error: KnownError): Promise<PublicError>;
  /** Calls for a recall. What the key may not call is left out; another refusal is thrown. */
  callTools: CallTools;
}

/** A refusal of a call within another. */
export class CallRefused extends Error {
  readonly error: PublicError;
  constructor(error: PublicError) {
    super(error.message);
    this.error = error;
  }
}

const IDENTITY_ARGUMENTS = ['caller', 'creator', 'source'];
const MAX_NAME_LENGTH = 100;

/** The key determines the caller, so these arguments are ignored unless the operation has such a field. */
function withoutIdentity({ input }: AnyOperation, given: Record<string, unknown> = {}): Record<string, unknown> {
  const properties = input instanceof z.ZodObject ? input.shape : {};
  const isIgnored = (name: string) => IDENTITY_ARGUMENTS.includes(name) && !Object.hasOwn(properties, name);
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isIgnored(name)));
}

export function createCalls(identity: Identity, { execute, refuse }: McpDependencies): Calls {
  const run = async (operation: AnyOperation, given: Record<string, unknown> = {}): Promise<Called> => {
    try {
      requireToolSet(identity.toolSets, operation);
    } catch (error) {
      return { error: await refuse(identity, operation.name, error as KnownError) };
    }
    const outcome = await execute(operation, identity, operation.name, withoutIdentity(operation, given));
    if (outcome.error) return { error: outcome.error };
    // An agent did not ask for what is similar, so it does not wait for a vector.
    const { output, summary } = await outcome.complete({ byMeaning: false });
    return { error: null, output: output as Record<string, unknown>, summary, inferred: outcome.inferred };
  };

  const calls: Calls = {
    identity,
    run,
    refuse: (name, error) => refuse(identity, name.slice(0, MAX_NAME_LENGTH), error),
    async call(tool, given) {
      const operation = operationOf(tool);
      if (operation) return run(operation, todaysCall(tool, given).arguments);
      const name = shownName(tool.slice(0, MAX_NAME_LENGTH), 'of this name');
      return { error: await calls.refuse(tool, new KnownError('L9VAL', `there is no tool ${name}`)) };
    },
    callTools(all) {
      const mayCall = ({ tool }: Call) => identity.toolSets?.includes(operationOf(tool)!.toolSet) ?? true;
      // A key that may call none of it is told so.
      const isLeftOut = (one: Call) => !mayCall(one) && all.some(mayCall);
      return Promise.all(
        all.map(async (one) => {
          if (isLeftOut(one)) return null;
          const called = await calls.call(one.tool, one.arguments);
          if (called.error) throw new CallRefused(called.error);
          return called.output;
        }),
      );
    },
  };
  return calls;
}
