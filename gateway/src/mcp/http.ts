import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type Express, type Request, type Response } from 'express';
import type { Logger } from 'pino';
import type { KeyVerifier } from '../auth/api-keys.ts';
import { apiKey } from '../auth/request.ts';
import { toPublicError } from '../errors.ts';
import type { Perform } from '../memory/perform.ts';
import { createMcpServer } from './server.ts';

export interface McpOptions {
  perform: Perform;
  verifyKey: KeyVerifier;
  logger: Logger;
  version: string;
}

const jsonRpcError = (code: number, message: string) => ({ jsonrpc: '2.0', error: { code, message }, id: null });

/** MCP over streamable HTTP, without sessions: every request carries its key, and any replica can answer it. */
export function mountMcp(app: Express, { perform, verifyKey, logger, version }: McpOptions): void {
  app.post('/mcp', (request: Request, response: Response, next) => {
    try {
      response.locals.identity = verifyKey(apiKey(request.headers));
      next();
    } catch (error) {
      const shown = toPublicError(error, logger);
      response
        .status(shown.httpStatus)
        .set('WWW-Authenticate', 'Bearer')
        .json(jsonRpcError(-32001, `${shown.code} (${shown.sqlstate}): ${shown.message}`));
    }
  });

  app.post('/mcp', express.json({ limit: '4mb' }), async (request: Request, response: Response) => {
    const server = createMcpServer(response.locals.identity, perform, version);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never);
    response.on('close', () => {
      void transport.close();
      void server.close();
    });
    await server.connect(transport as never);
    await transport.handleRequest(request, response, request.body);
  });

  app.all('/mcp', (_request, response) => {
    response.status(405).set('Allow', 'POST').json(jsonRpcError(-32000, 'this server keeps no sessions: use POST'));
  });
}
