import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type Express, type Request, type Response } from 'express';
import type { KeyVerifier } from '../auth/api-keys.ts';
import { apiKey } from '../auth/request.ts';
import { createMcpServer, type McpDependencies } from './server.ts';

export interface McpOptions extends McpDependencies {
  verifyKey: KeyVerifier;
}

/** MCP over streamable HTTP without sessions: every request has its key, so any replica can answer it. */
export function mountMcp(app: Express, { verifyKey, ...mcp }: McpOptions): void {
  app.post('/mcp', (request: Request, response: Response, next) => {
    response.locals.identity = verifyKey(apiKey(request.headers));
    next();
  });

  app.post('/mcp', express.json({ limit: '8mb' }), async (request: Request, response: Response) => {
    const server = createMcpServer(response.locals.identity, mcp);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never);
    response.on('close', () => {
      void transport.close();
      void server.close();
    });
    await server.connect(transport as never);
    await transport.handleRequest(request, response, request.body);
  });

  app.all('/mcp', (_request, response) => {
    const error = { code: -32000, message: 'this server keeps no sessions: use POST' };
    response.status(405).set('Allow', 'POST').json({ jsonrpc: '2.0', error, id: null });
  });
}
