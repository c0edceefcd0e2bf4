import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { pinoHttp } from 'pino-http';

/** Fields that could name who acts, prove who somebody is, or hold contents. */
const REDACTED = [
  ...['authorization', 'token', 'password', 'apiKey', 'idempotency_key', 'idempotencyKey'],
  ...['caller', 'creator', 'actor', 'speaker', 'user_id', 'userId', 'key_id', 'keyId'],
  ...['content', 'query'],
];

/** JSON lines. Never contents: the fields that are logged are named one by one, and contents under these names are cut out. */
export function createLogger(level: string, to: number | DestinationStream = 1, environment = 'development'): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid, service: 'l9-memory', environment },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['req.headers', 'res.headers', ...REDACTED, ...REDACTED.map((name) => `*.${name}`)],
        censor: '[redacted]',
      },
    },
    typeof to === 'number' ? destination({ dest: to, sync: true }) : to,
  );
}

/** An HTTP request that is under way. */
export interface CurrentRequest {
  readonly id: string;
  /** The position in the write-ahead log (LSN) after which this request reads; where replicas are read. */
  readsAfter?: string;
  /** The position after its last write; where replicas are read. */
  written?: string;
  onWritten?(lsn: string): void;
}

const requests = new AsyncLocalStorage<CurrentRequest>();

/** The HTTP request that the caller of this function works for. */
export const currentRequest = () => requests.getStore();
export const currentRequestId = () => requests.getStore()?.id;

/** One line a request: what was asked for and how it ended. No headers (they carry tokens), no query, no body. */
export function logRequests(logger: Logger): RequestHandler {
  const log = pinoHttp({
    logger,
    genReqId: (_request, response) => {
      const id = randomUUID();
      response.setHeader('X-Request-Id', id);
      return id;
    },
    serializers: {
      req: ({ id, method, url }: { id: unknown; method: string; url: string }) => ({
        id,
        method,
        path: url.split('?')[0],
      }),
      res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
    },
    // Being busy or not ready is an answer, not a failure.
    customLogLevel: (_request, response, error) => (error || response.statusCode === 500 ? 'error' : 'debug'),
  });
  return (request, response, next) => {
    log(request, response);
    requests.run({ id: String(request.id) }, next);
  };
}
