// What every request is answered while the server starts: it listens at once, so that a port in use is noticed at once, and says
// that it is there.
import type { IncomingMessage, ServerResponse } from 'node:http';

const RETRY_AFTER_SECONDS = 1;
const MESSAGE = 'the server is starting: try again in a moment';

const bodyOf = (path: string): object => {
  if (path === '/health' || path === '/ready') return { status: 'starting' };
  if (path === '/mcp')
    return { jsonrpc: '2.0', error: { code: -32000, message: `BUSY (L9BSY): ${MESSAGE}` }, id: null };
  return { status: 'starting', errors: [{ message: MESSAGE, extensions: { code: 'BUSY', sqlstate: 'L9BSY' } }] };
};

export function answerStarting({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': String(RETRY_AFTER_SECONDS),
    // Most of these requests send a body that nobody reads.
    connection: 'close',
  };
  response.writeHead(503, headers).end(`${JSON.stringify(bodyOf(url.split('?')[0]!))}\n`);
}
