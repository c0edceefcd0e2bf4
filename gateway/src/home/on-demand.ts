// A server that an editor started lives as long as somebody is attached to it: `l9-memory mcp` holds a request open,
// which ends with its process however that ends.
import type { Express } from 'express';
import type { KeyVerifier } from '../auth/api-keys.ts';
import { apiKey } from '../auth/request.ts';
import { KnownError } from '../errors.ts';

const GRACE_MS = 10_000;

export interface AttachOptions {
  verifyKey: KeyVerifier;
  /** Called when nobody has been attached for GRACE_MS; left out for a server that stays. */
  onIdle?: () => void;
  graceMs?: number;
}

/** GET /attach: an answer that never ends while the server lives. */
export function mountAttach(app: Express, { verifyKey, onIdle, graceMs = GRACE_MS }: AttachOptions): void {
  let attached = 0;
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    clearTimeout(timer);
    if (attached === 0 && onIdle) timer = setTimeout(onIdle, graceMs);
  };
  watch();

  app.get('/attach', (request, response) => {
    try {
      verifyKey(apiKey(request.headers));
    } catch (error) {
      response.status(401).json({ error: error instanceof KnownError ? error.message : 'not accepted' });
      return;
    }
    attached += 1;
    watch();
    response.on('close', () => {
      attached -= 1;
      watch();
    });
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
    response.write('attached\n');
  });
}
