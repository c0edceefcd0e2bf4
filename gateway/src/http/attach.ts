// A server that an editor started runs as long as clients are attached: `l9-memory mcp` holds a request open, which ends
// with its process.
import type { Express, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { Identity } from '../auth/identity.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { textOf } from '../auth/request.ts';

// The client that started the server needs time to attach, even on a busy machine.
const FIRST_GRACE_MS = 30_000;

export interface AttachOptions {
  authentication: Authentication;
  rateLimits: RateLimits;
  /** Called when no client was attached for graceMs. Omit it for a server that keeps running. */
  onIdle?: () => void;
  graceMs: number;
}

/** An org is no default that a client could choose: its key or token decides for which org it acts. */
function noticeAboutOrg({ orgId, orgName }: Identity, org: string | null): Record<string, string> {
  if (org === null || [orgId, orgName].some((own) => own?.toLowerCase() === org.toLowerCase())) return {};
  const text = `the org ${org} of the working copy is left out, because this key does not act for it; L9_ORG names another one`;
  return { 'x-l9-notice': Buffer.from(text).toString('latin1') };
}

/** GET /attach: a response that stays open while the server runs. `close` ends all of them. */
export function mountAttach(
  app: Express,
  { authentication, rateLimits, onIdle, graceMs }: AttachOptions,
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
    const identity = await authentication.identify(request);
    await rateLimits.countCalls(identity, 'reads');
    const notice = noticeAboutOrg(identity, textOf(request.headers, 'x-l9-org'));
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
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store', ...notice });
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
