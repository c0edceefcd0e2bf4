// A server that an editor started runs as long as clients are attached: `l9-memory mcp` holds a request open, which ends
// with its process.
import type { Express, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { RateLimits } from '../auth/rate-limits.ts';

const GRACE_MS = 5_000;
// The client that started the server needs time to attach, even on a busy machine.
const FIRST_GRACE_MS = 30_000;

export interface AttachOptions {
  authentication: Authentication;
  rateLimits: RateLimits;
  /** Called when no client was attached for graceMs. Omit it for a server that keeps running. */
  onIdle?: () => void;
  graceMs?: number;
}

/** GET /attach: a response that stays open while the server runs. `close` ends all of them. */
export function mountAttach(
  app: Express,
  { authentication, rateLimits, onIdle, graceMs = GRACE_MS }: AttachOptions,
): { close(): void } {
  const attached = new Set<Response>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const watch = (wait: number) => {
    clearTimeout(timer);
    if (attached.size === 0 && onIdle && !isClosed) timer = setTimeout(onIdle, wait);
  };
  watch(FIRST_GRACE_MS);

  app.get('/attach', async (request, response) => {
    await rateLimits.countCalls(await authentication.byKey(request), 'reads');
    if (isClosed) {
      response.status(503).json({ error: 'this server is stopping' });
      return;
    }
    attached.add(response);
    watch(graceMs);
    response.on('close', () => {
      attached.delete(response);
      watch(graceMs);
    });
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
    response.write('attached\n');
  });

  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const response of attached) response.end();
    },
  };
}
