import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Denials } from '../audit/denials.ts';
import { challenge } from '../auth/challenge.ts';
import { addressOf, apiKey, keysIn } from '../auth/request.ts';
import { errorExtensions, isCounted, KnownError, mcpText, type PublicError, toPublicError } from '../base/errors.ts';
import { noteRefusal } from './log-refusals.ts';

export const NOT_JSON = 'body: not valid JSON';

/** JSON-RPC has codes of its own for a body that is no JSON, for JSON that is no request, and for parameters that are not valid. */
function rpcCodeOf({ sqlstate, field, message }: PublicError): number {
  if (sqlstate !== 'L9VAL') return -32000;
  if (field !== 'body') return ErrorCode.InvalidParams;
  return message === NOT_JSON ? ErrorCode.ParseError : ErrorCode.InvalidRequest;
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
export function mountErrors(app: Express, logger: Logger, denials: Denials): void {
  // A client whose key was refused asks these for a way to get another.
  app.use(['/register', '/.well-known'], (_request, response) => {
    noteRefusal(response, null);
    response.status(404).json({
      error: 'invalid_request',
      error_description:
        'this server has no OAuth: send an API key or a token as Authorization: Bearer …; if you sent one, it was not accepted',
    });
  });

  app.use(() => {
    throw new KnownError('L9OWN', 'not found');
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
        response.set(challenge(given, error.message));
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
