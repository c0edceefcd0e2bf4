import type { RequestHandler, Response } from 'express';
import type { RefusalLog } from '../audit/refusal-log.ts';
import type { PublicError } from '../base/errors.ts';
import { currentRequestId } from '../base/logger.ts';

const APIS = ['graphql', 'mcp', 'attach', 'health', 'ready', 'metrics'];

/** Notes why a request was refused; null where the log has the reason already. */
export function noteRefusal(
  response: Response | undefined,
  error: Pick<PublicError, 'code' | 'sqlstate' | 'httpStatus'> | null,
): void {
  if (response) response.locals.refusal = error;
}

/** Tells the log of requests that were refused as a whole. Calls of operations are told of one by one. */
export const logRefusals =
  (log: Pick<RefusalLog, 'add'>): RequestHandler =>
  (request, response, next) => {
    const requestId = currentRequestId();
    response.on('finish', () => {
      const { statusCode: status, locals } = response;
      const error = locals.refusal;
      if (error === null || (error === undefined && (status < 400 || status >= 500))) return;
      const [, api = ''] = request.originalUrl.split(/[/?]/);
      log.add({ called: { api: APIS.includes(api) ? api : 'other' }, error: error ?? null, status, requestId });
    });
    next();
  };
