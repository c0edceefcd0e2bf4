// The tools of the Model Context Protocol, derived from the operations. The operations validate their input instead of the
// SDK, so that a refusal is audited and its text tells an agent what to change.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Identity } from '../auth/identity.ts';
import { KnownError, mcpText, type PublicError } from '../errors.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { operations } from '../operations/index.ts';
import type { AnyOperation } from '../operations/operation.ts';

const instructions =
  'Long-term memory shared by agents and people. Search before you start on something; save decisions, lessons and facts that ' +
  'will matter later, and say with record_feedback whether what you found helped. Scope developer belongs to a project and is shared by all coding agents; scope global is for everyone. ' +
  'Who you are is decided by your key.';

// Agents read the schemas on every call, so a regular expression that repeats `format` is left out.
const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      if (jsonSchema.format) delete jsonSchema.pattern;
    },
  }) as Tool['inputSchema'];

/** Answers also say what was inferred from the working copy, in a field of their own. */
const withInferred = ({ input }: AnyOperation, schema: Tool['inputSchema']): Tool['inputSchema'] =>
  input instanceof z.ZodObject && 'project_id' in input.shape
    ? { ...schema, properties: { ...schema.properties, inferred: { type: 'object' } } }
    : schema;

const tools: Tool[] = operations.map((operation) => ({
  name: operation.name,
  title: operation.title,
  description: operation.description,
  inputSchema: jsonSchema(operation.input, 'input'),
  outputSchema: withInferred(operation, jsonSchema(operation.output, 'output')),
  annotations: {
    title: operation.title,
    readOnlyHint: operation.isReadOnly,
    destructiveHint: operation.isDestructive,
    idempotentHint: operation.isIdempotent,
    openWorldHint: false,
  },
}));

const byName = new Map(operations.map((operation) => [operation.name, operation]));

const failure = (error: PublicError): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: mcpText(error) }],
});

const IDENTITY_ARGUMENTS = ['caller', 'creator', 'source'];

/** The key determines the caller, so these arguments are ignored unless the operation has such a field. */
function withoutIdentity({ name }: AnyOperation, given: Record<string, unknown> = {}): Record<string, unknown> {
  const properties = tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {};
  const isIgnored = (name: string) => IDENTITY_ARGUMENTS.includes(name) && !Object.hasOwn(properties, name);
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isIgnored(name)));
}

/** Whether a message calls an operation that writes. */
export const isWrite = (message: unknown): boolean => {
  const call = CallToolRequestSchema.safeParse(message);
  return call.success && byName.get(call.data.params.name)?.isReadOnly === false;
};

export interface McpDependencies {
  execute: ExecuteOperation;
  /** Audits a call of an unknown tool. */
  refuse: (identity: Identity, toolName: string, error: KnownError) => Promise<PublicError>;
  version: string;
}

export function createMcpServer(identity: Identity, { execute, refuse, version }: McpDependencies): Server {
  const server = new Server({ name: 'l9-memory', version }, { capabilities: { tools: {} }, instructions });

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    const operation = byName.get(params.name);
    if (!operation) {
      const name = params.name.slice(0, 100);
      return failure(await refuse(identity, name, new KnownError('L9VAL', `there is no tool ${name}`)));
    }
    const outcome = await execute(operation, identity, operation.name, withoutIdentity(operation, params.arguments));
    if (outcome.error) return failure(outcome.error);
    const { output, summary } = await outcome.complete();
    const { inferred } = outcome;
    const note = inferred ? `\nInferred from the working copy: project_id ${inferred.project_id}.` : '';
    return {
      structuredContent: { ...(output as Record<string, unknown>), ...(inferred && { inferred }) },
      content: [{ type: 'text', text: `${summary}${note}` }],
    };
  });
  return server;
}
