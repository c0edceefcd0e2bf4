import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Express, Request, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { jsonBody } from '../http/json-body.ts';
import { noteRefusal } from '../http/log-refusals.ts';
import type { McpDependencies } from './calls.ts';
import { readMessages } from './messages.ts';
import { createMcpServer, isWrite, readsOf, takesLargeInput } from './server.ts';
import { parseToolSets } from './tool-sets.ts';

export interface McpOptions extends McpDependencies {
  authentication: Authentication;
  rateLimits: RateLimits;
}

const JSON_OR_EVENTS = 'application/json, text/event-stream';

/** The request as the SDK reads it: the headers of the protocol. The body is parsed already. */
function protocolRequest({ headers }: Request): globalThis.Request {
  const { accept = '*/*' } = headers;
  // The SDK wants both types named.
  const accepted = /\*\/\*|application\/(json|\*)/.test(accept) ? JSON_OR_EVENTS : accept;
  const ofProtocol = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && (name.startsWith('mcp-') || name === 'content-type') ? [[name, value]] : [],
  );
  return new globalThis.Request('http://localhost/mcp', {
    method: 'POST',
    headers: [...ofProtocol, ['accept', accepted]],
  });
}

/** Every answer ends at once: the only stream of the protocol tells of changed lists, which this server does not. */
async function send(answer: globalThis.Response, response: Response): Promise<void> {
  // Bytes, since a text that is not ASCII takes twice the memory, and would become bytes again.
  const body = Buffer.from(await answer.arrayBuffer());
  if (response.destroyed) return;
  response.status(answer.status);
  for (const name of ['content-type', 'allow']) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  response.end(body);
}

/** MCP over streamable HTTP without sessions: every request has its key, so any replica can answer it. */
export function mountMcp(app: Express, { authentication, rateLimits, ...mcp }: McpOptions): void {
  app.post('/mcp', async (request: Request, response: Response, next) => {
    response.locals.identity = await authentication.identify(request);
    response.locals.toolSets = parseToolSets([request.query.tools ?? []].flat().join(','));
    next();
  });

  app.post('/mcp', jsonBody(takesLargeInput), async (request: Request, response: Response) => {
    const { identity, toolSets } = response.locals;
    const given: unknown = request.body;
    const read = given === undefined ? [] : readMessages(given);
    const messages = read.flatMap(({ message }) => message ?? []);
    const writes = messages.filter(isWrite).length;
    const reads = read.reduce((sum, { message }) => sum + (isWrite(message) ? 0 : readsOf(message)), 0);
    if (writes > 0) await rateLimits.countCalls(identity, 'writes', writes);
    if (reads > 0) await rateLimits.countCalls(identity, 'reads', reads);
    const refused = read.find(({ refusal }) => refusal !== null);
    if (refused) {
      response.status(400).json(refused.refusal);
      return;
    }
    const parsedBody = Array.isArray(given) ? messages : messages[0];
    const asked = protocolRequest(request);
    const createServer = () => createMcpServer(identity, toolSets, mcp);
    if (parsedBody !== undefined && !(await isLegacyRequest(asked, parsedBody))) {
      const handler = createMcpHandler(createServer, { legacy: 'reject' });
      response.on('close', () => void handler.close());
      await send(await handler.fetch(asked, { parsedBody }), response);
      return;
    }
    const server = createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void server.close());
    await server.connect(transport);
    await send(await transport.handleRequest(asked, { parsedBody }), response);
  });

  app.all('/mcp', ({ method }, response) => {
    // Each client asks for a stream with GET, and ends its session with DELETE.
    if (method === 'GET' || method === 'DELETE') noteRefusal(response, null);
    const error = { code: -32000, message: 'this server keeps no sessions: use POST' };
    response.status(405).set('Allow', 'POST').json({ jsonrpc: '2.0', error, id: null });
  });
}
