import { destination, type Logger, pino } from 'pino';

/** JSON lines. Never contents: what is logged is named field by field, and what slips in under these names is cut out. */
export function createLogger(level: string, fileDescriptor = 1): Logger {
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
    destination({ dest: fileDescriptor, sync: true }),
  );
}
