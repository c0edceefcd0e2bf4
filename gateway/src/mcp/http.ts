import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Express, Request, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { jsonBody } from '../http/json-body.ts';
import { noteRefusal } from '../http/log-refusals.ts';
import { readMessages, withoutSdkErrors } from './messages.ts';
import { createMcpServer, isWrite, type McpDependencies, takesLargeInput } from './server.ts';
import { parseToolSets } from './tool-sets.ts';

export interface McpOptions extends McpDependencies {
  authentication: Authentication;
  rateLimits: RateLimits;
}

/** The SDK wants both types named. It reads the headers as they came, so they are changed there. */
function acceptBoth(request: Request): void {
  const { accept = '*/*' } = request.headers;
  if (!/\*\/\*|application\/(json|\*)/.test(accept)) return;
  const others = request.rawHeaders.filter((_, index, all) => all[index - (index % 2)]!.toLowerCase() !== 'accept');
  request.headers.accept = 'application/json, text/event-stream';
  request.rawHeaders.splice(0, Number.POSITIVE_INFINITY, ...others, 'Accept', request.headers.accept);
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
    if (writes > 0) await rateLimits.countCalls(identity, 'writes', writes);
    if (writes < read.length) await rateLimits.countCalls(identity, 'reads', read.length - writes);
    const refused = read.find(({ refusal }) => refusal !== null);
    if (refused) {
      response.status(400).json(refused.refusal);
      return;
    }
    const server = createMcpServer(identity, toolSets, mcp);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never);
    response.on('close', () => {
      void transport.close();
      void server.close();
    });
    acceptBoth(request);
    await server.connect(withoutSdkErrors(transport) as never);
    await transport.handleRequest(request, response, Array.isArray(given) ? messages : messages[0]);
  });

  app.all('/mcp', ({ method }, response) => {
    // Each client asks for a stream with GET, and ends its session with DELETE.
    if (method === 'GET' || method === 'DELETE') noteRefusal(response, null);
    const error = { code: -32000, message: 'this server keeps no sessions: use POST' };
    response.status(405).set('Allow', 'POST').json({ jsonrpc: '2.0', error, id: null });
  });
}
