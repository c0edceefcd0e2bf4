// What MCP offers to one client, derived from the operations. The operations validate their input instead of the SDK, so that a refusal
// is audited and its text tells an agent what to change.
import type { CallToolResult, Server } from '@modelcontextprotocol/server';
import { type Identity, isReviewer } from '../auth/identity.ts';
import { mcpText, type PublicError } from '../base/errors.ts';
import { currentRequest } from '../base/logger.ts';
import { isBlank } from '../input/text.ts';
import type { ToolSet } from '../operations/operation.ts';
import { isObject } from '../operations/read-input.ts';
import { RECALLED, recalled } from '../operations/recalled.ts';
import { CALLS } from '../recall/recall.ts';
import { createCalls, type McpDependencies } from './calls.ts';
import { complete } from './completions.ts';
import { createIntroduction } from './introduction.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { addressOf } from './resource-uris.ts';
import { listResources, readResource } from './resources.ts';
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

/** Where replicas are read: where the write-ahead log is after a write. */
const LSN = 'l9-memory/lsn';

type Params = Record<string, unknown>;

/** The method and the parameters of a request, of which nothing has been checked yet. */
function requestIn(message: unknown): { method: unknown; params: Params } {
  const { method, params } = Object(message) as { method?: unknown; params?: unknown };
  return { method, params: isObject(params) ? params : {} };
}

const operationIn = (message: unknown) => {
  const { method, params } = requestIn(message);
  return method === 'tools/call' && typeof params.name === 'string' ? operationOf(params.name) : undefined;
};

/** Whether a message calls an operation that writes. */
export const isWrite = (message: unknown): boolean => operationIn(message)?.isReadOnly === false;

/** Whether a message calls an operation that takes more than other calls. */
export const takesLargeInput = (message: unknown): boolean => operationIn(message)?.takesLargeInput === true;

/** How many reads a message counts as: a recall makes several calls. */
export function readsOf(message: unknown): number {
  const { method, params } = requestIn(message);
  const address = method === 'resources/read' && typeof params.uri === 'string' ? addressOf(params.uri) : null;
  const isRecall =
    method === 'prompts/get' && params.name === 'recall' && isBlank(String(Object(params.arguments).about ?? ''));
  return isRecall || (address !== null && 'project' in address) ? CALLS.start : 1;
}

/** `asked` names the sets of tools to list. A tool that is not listed is answered all the same, unless the key is limited. */
export function createMcpServer(
  identity: Identity,
  asked: readonly ToolSet[] | null,
  dependencies: McpDependencies,
): Server {
  const reviews = isReviewer(identity);
  const tools = () => listTools(identity.toolSets, asked, reviews);
  // The page belongs to a tool of reviewers, so it is offered with that tool.
  const hasReviewPage = () => tools().some(({ _meta }) => _meta);
  const server = createIntroduction(() => ({ tools: tools(), prompts: listPrompts(reviews) }));
  const calls = createCalls(identity, dependencies);

  server.setRequestHandler('tools/call', async ({ params }): Promise<CallToolResult> => {
    const called = await calls.call(params.name, params.arguments);
    if (called.error) return failure(called.error);
    const { output, summary, inferred } = called;
    const fields = Object.entries(inferred ?? {}).map(([name, value]) => `${name} ${value}`);
    const note = inferred ? `\nInferred from the working copy: ${fields.join(', ')}.` : '';
    const lsn = currentRequest()?.written;
    return {
      ...(lsn && { _meta: { [LSN]: lsn } }),
      structuredContent: { ...output, ...(inferred && { inferred }) },
      content: [{ type: 'text', text: `${summary}${note}` }],
    };
  });
  server.setRequestHandler('resources/list', ({ params }) =>
    listResources(calls, { cursor: params?.cursor, hasReviewPage: hasReviewPage() }),
  );
  server.setRequestHandler('resources/read', ({ params }) => readResource(calls, params.uri, hasReviewPage()));
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(calls, params.name, params.arguments));
  server.setRequestHandler('completion/complete', ({ params }) => complete(calls, params));
  return server;
}
