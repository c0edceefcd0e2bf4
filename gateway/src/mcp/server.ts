// The tools of the Model Context Protocol, derived from the operations. The operations validate their input instead of the
// SDK, so that a refusal is audited and its text tells an agent what to change.
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type Identity, isReviewer } from '../auth/identity.ts';
import { KnownError, mcpText, type PublicError } from '../base/errors.ts';
import { shownName } from '../input/echo.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { type AnyOperation, requireToolSet, type ToolSet } from '../operations/operation.ts';
import { RECALLED, recalled } from '../operations/recalled.ts';
import { createIntroduction } from './introduction.ts';
import { todaysCall } from './older-calls.ts';
import { listTools, operationOf } from './tools.ts';

const failure = (error: PublicError): CallToolResult => ({
  isError: true,
  content: [
    { type: 'text', text: mcpText(error) },
    // Not as structured content, which would have to be as the schema of the tool says.
    ...(error.current ? [{ type: 'text' as const, text: `${RECALLED}\n${recalled({ current: error.current })}` }] : []),
    ...(error.findings ? [{ type: 'text' as const, text: JSON.stringify({ findings: error.findings }) }] : []),
  ],
});

const IDENTITY_ARGUMENTS = ['caller', 'creator', 'source'];

/** The key determines the caller, so these arguments are ignored unless the operation has such a field. */
function withoutIdentity({ input }: AnyOperation, given: Record<string, unknown> = {}): Record<string, unknown> {
  const properties = input instanceof z.ZodObject ? input.shape : {};
  const isIgnored = (name: string) => IDENTITY_ARGUMENTS.includes(name) && !Object.hasOwn(properties, name);
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isIgnored(name)));
}

/** Whether a message calls an operation that writes. */
export const isWrite = (message: unknown): boolean => {
  const call = CallToolRequestSchema.safeParse(message);
  return call.success && operationOf(call.data.params.name)?.isReadOnly === false;
};

/** Whether a message calls an operation that takes more than other calls. */
export const takesLargeInput = (message: unknown): boolean => {
  const { params } = Object(message) as { params?: { name?: unknown } };
  return typeof params?.name === 'string' && operationOf(params.name)?.takesLargeInput === true;
};

export interface McpDependencies {
  execute: ExecuteOperation;
  /** Audits a call of an unknown tool. */
  refuse: (identity: Identity, toolName: string, error: KnownError) => Promise<PublicError>;
}

/** `asked` names the sets of tools to list. A tool that is not listed is answered all the same, unless the key is limited. */
export function createMcpServer(
  identity: Identity,
  asked: readonly ToolSet[] | null,
  { execute, refuse }: McpDependencies,
): Server {
  const server = createIntroduction(() => listTools(identity.toolSets, asked, isReviewer(identity)));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    const operation = operationOf(params.name);
    if (!operation) {
      const name = params.name.slice(0, 100);
      const reason = `there is no tool ${shownName(name, 'of this name')}`;
      return failure(await refuse(identity, name, new KnownError('L9VAL', reason)));
    }
    try {
      requireToolSet(identity.toolSets, operation);
    } catch (error) {
      return failure(await refuse(identity, operation.name, error as KnownError));
    }
    const outcome = await execute(
      operation,
      identity,
      operation.name,
      withoutIdentity(operation, todaysCall(params.name, params.arguments).arguments),
    );
    if (outcome.error) return failure(outcome.error);
    // An agent did not ask for what is similar, so it does not wait for a vector.
    const { output, summary } = await outcome.complete({ byMeaning: false });
    const { inferred } = outcome;
    const fields = Object.entries(inferred ?? {}).map(([name, value]) => `${name} ${value}`);
    const note = inferred ? `\nInferred from the working copy: ${fields.join(', ')}.` : '';
    return {
      structuredContent: { ...(output as Record<string, unknown>), ...(inferred && { inferred }) },
      content: [{ type: 'text', text: `${summary}${note}` }],
    };
  });
  return server;
}
