// A server that an editor started runs as long as clients are attached: `l9-memory mcp` holds a request open, which ends
// with its process.
import type { Express, Response } from 'express';
import type { KeyVerifier } from '../auth/api-keys.ts';
import { apiKey } from '../auth/request.ts';

const GRACE_MS = 5_000;
// The client that started the server needs time to attach, even on a busy machine.
const FIRST_GRACE_MS = 30_000;

export interface AttachOptions {
  verifyKey: KeyVerifier;
  /** Called when no client was attached for graceMs. Omit it for a server that keeps running. */
  onIdle?: () => void;
  graceMs?: number;
}

/** GET /attach: a response that stays open while the server runs. `close` ends all of them. */
export function mountAttach(app: Express, { verifyKey, onIdle, graceMs = GRACE_MS }: AttachOptions): { close(): void } {
  const attached = new Set<Response>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const watch = (wait: number) => {
    clearTimeout(timer);
    if (attached.size === 0 && onIdle && !isClosed) timer = setTimeout(onIdle, wait);
  };
  watch(FIRST_GRACE_MS);

  app.get('/attach', (request, response) => {
    verifyKey(apiKey(request.headers));
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
