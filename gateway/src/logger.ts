import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { pinoHttp } from 'pino-http';

/** JSON lines. Never contents: what is logged is named field by field, and what slips in under these names is cut out. */
export function createLogger(level: string, to: number | DestinationStream = 1): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      redact: {
        paths: [
          'req.headers',
          'res.headers',
          '*.authorization',
          '*.token',
          '*.password',
          '*.apiKey',
          '*.content',
          '*.query',
          'content',
          'query',
        ],
        censor: '[redacted]',
      },
    },
    typeof to === 'number' ? destination({ dest: to, sync: true }) : to,
  );
}

/** One line a request: what was asked for and how it ended. No headers (they carry tokens), no query, no body. */
export const logRequests = (logger: Logger) =>
  pinoHttp({
    logger,
    serializers: {
      req: ({ id, method, url }: { id: unknown; method: string; url: string }) => ({
        id,
        method,
        path: url.split('?')[0],
      }),
      res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
    },
    customLogLevel: (_request, response, error) => (error || response.statusCode >= 500 ? 'error' : 'debug'),
  });
