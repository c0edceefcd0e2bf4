import { INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from '@modelcontextprotocol/server';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Denials } from '../audit/denials.ts';
import { challenge } from '../auth/challenge.ts';
import { addressOf, apiKey, keysIn } from '../auth/request.ts';
import { errorExtensions, isCounted, KnownError, mcpText, type PublicError, toPublicError } from '../base/errors.ts';
import { noteRefusal } from './log-refusals.ts';
import type { ProtectedResource } from './protected-resource.ts';

export const NOT_JSON = 'body: not valid JSON';

// Neither names the path, which a client may have filled with a key.
const NOT_FOUND = 'path: this server has /graphql, /mcp, /health, /ready, /metrics and, unless it is off, /console';
const NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";
const NO_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>l9-memory: no such page</title>
<h1>There is no such page</h1>
<p>l9-memory runs here. People find it at <a href="/console">the console</a>, applications at <code>/graphql</code> and editors at
<code>/mcp</code>; <a href="/health">/health</a> says that it lives.</p>
</html>
`;

/** JSON-RPC has codes of its own for a body that is no JSON, for JSON that is no request, and for parameters that are not valid. */
function rpcCodeOf({ sqlstate, field, message }: PublicError): number {
  if (sqlstate !== 'L9VAL') return -32000;
  if (field !== 'body') return INVALID_PARAMS;
  return message === NOT_JSON ? PARSE_ERROR : INVALID_REQUEST;
}

// JSON-RPC's form for MCP, GraphQL's for everything else.
const bodyOf = (path: string, error: PublicError) =>
  path === '/mcp'
    ? {
        jsonrpc: '2.0',
        error: { code: rpcCodeOf(error), message: mcpText(error) },
        id: null,
      }
    : { errors: [{ message: error.message, extensions: errorExtensions(error) }] };

/**
 * Answers requests that reach no API: without a valid identity or body, or for an unknown path. Express itself would answer
 * with a stack trace, and log the bodies that it can't parse.
 */
export function mountErrors(app: Express, logger: Logger, denials: Denials, oauth: ProtectedResource | null): void {
  // A client whose key was refused asks these for a way to get another.
  app.use(['/register', '/.well-known'], (_request, response) => {
    noteRefusal(response, null);
    response.status(404).json({
      error: 'invalid_request',
      error_description:
        'this server issues no tokens: send an API key or a token as Authorization: Bearer …; if you sent one, it was not accepted',
    });
  });

  app.use((request: Request, response: Response) => {
    response.status(404).vary('Accept');
    if (request.accepts(['json', 'html']) === 'html')
      response.set('Content-Security-Policy', NOTHING).type('html').send(NO_PAGE);
    else response.json({ errors: [{ message: NOT_FOUND, extensions: { code: 'NOT_FOUND' } }] });
  });

  app.use(
    (cause: Error & { type?: string; status?: number }, request: Request, response: Response, _next: NextFunction) => {
      const error = toPublicError(fromBodyParser(cause) ?? cause, logger);
      noteRefusal(response, error);
      if (response.headersSent) {
        response.destroy();
        return;
      }
      if (error.httpStatus === 401) {
        const given = apiKey(request.headers) === null ? 0 : keysIn(request).size;
        response.set(challenge(given, error.message, oauth?.metadataUrl(request) ?? null));
      }
      if (isCounted(error.sqlstate)) {
        denials.record({
          sqlstate: error.sqlstate,
          api: request.path.split('/')[1] ?? '',
          reason: error.message,
          address: addressOf(request),
          claimed: cause instanceof KnownError ? cause.claimed : null,
        });
      }
      if (error.retryAfterSeconds) response.set('Retry-After', String(error.retryAfterSeconds));
      response.status(error.httpStatus).json(bodyOf(request.path, error));
    },
  );
}

function fromBodyParser({ type, status }: { type?: string; status?: number }): KnownError | null {
  if (type === 'entity.too.large') return new KnownError('L9LIM', 'body: at most 40 MiB', 'body');
  if (status !== undefined && status >= 400 && status < 500) return new KnownError('L9VAL', NOT_JSON, 'body');
  return null;
}
