import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Express, Request, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { jsonBody } from '../http/json-body.ts';
import { refusalOfParams, withoutSdkErrors } from './invalid-params.ts';
import { createMcpServer, isWrite, type McpDependencies, takesLargeInput } from './server.ts';
import { parseToolSets } from './tool-sets.ts';

export interface McpOptions extends McpDependencies {
  authentication: Authentication;
  rateLimits: RateLimits;
}

/** MCP over streamable HTTP without sessions: every request has its key, so any replica can answer it. */
export function mountMcp(app: Express, { authentication, rateLimits, ...mcp }: McpOptions): void {
  app.post('/mcp', async (request: Request, response: Response, next) => {
    response.locals.identity = await authentication.byKey(request);
    response.locals.toolSets = parseToolSets([request.query.tools ?? []].flat().join(','));
    next();
  });

  app.post('/mcp', jsonBody(takesLargeInput), async (request: Request, response: Response) => {
    const { identity, toolSets } = response.locals;
    const { body } = request;
    const messages: unknown[] = Array.isArray(body) ? body : [body];
    const writes = messages.filter(isWrite).length;
    if (writes > 0) await rateLimits.countCalls(identity, 'writes', writes);
    if (writes < messages.length) await rateLimits.countCalls(identity, 'reads', messages.length - writes);
    const refusal = refusalOfParams(body);
    if (refusal) {
      response.status(400).json(refusal);
      return;
    }
    const server = createMcpServer(identity, toolSets, mcp);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never);
    response.on('close', () => {
      void transport.close();
      void server.close();
    });
    await server.connect(withoutSdkErrors(transport) as never);
    await transport.handleRequest(request, response, body);
  });

  app.all('/mcp', (_request, response) => {
    const error = { code: -32000, message: 'this server keeps no sessions: use POST' };
    response.status(405).set('Allow', 'POST').json({ jsonrpc: '2.0', error, id: null });
  });
}
