// A server that an editor started runs as long as clients are attached: `l9-memory mcp` holds a request open, which ends
// with its process.
import type { Express, Request, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { Identity } from '../auth/identity.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { textOf } from '../auth/request.ts';

// The client that started the server needs time to attach, even on a busy machine.
const FIRST_GRACE_MS = 30_000;

export interface AttachOptions {
  authentication: Authentication;
  rateLimits: RateLimits;
  /** Calls back whenever callers and keys were read again; returns how to stop that. */
  onDirectoryRead: (listener: () => void) => () => void;
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

/** What of an identity decides which tools and prompts it is offered. */
const offerOf = ({ role, toolSets }: Identity) => JSON.stringify([role, toolSets]);

/**
 * GET /attach: a response that stays open while the server runs, and gets another line when its key is offered something else.
 * `close` ends all of them.
 */
export function mountAttach(
  app: Express,
  { authentication, rateLimits, onDirectoryRead, onIdle, graceMs }: AttachOptions,
): { close(): void } {
  const attached = new Map<Response, { request: Request; offer: string }>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const watch = (wait: number) => {
    clearTimeout(timer);
    if (attached.size === 0 && onIdle && !isClosed) timer = setTimeout(onIdle, wait);
  };
  watch(FIRST_GRACE_MS);

  const tellOfChanges = async () => {
    for (const [response, client] of attached) {
      // A key that is refused by now is told so when it is used.
      const identity = await authentication.identify(client.request).catch(() => null);
      if (!identity || offerOf(identity) === client.offer) continue;
      client.offer = offerOf(identity);
      response.write('changed\n');
    }
  };
  const forget = onDirectoryRead(() => void tellOfChanges());

  app.get('/attach', async (request, response) => {
    const identity = await authentication.identify(request);
    await rateLimits.countCalls(identity, 'reads');
    const notice = noticeAboutOrg(identity, textOf(request.headers, 'x-l9-org'));
    if (isClosed) {
      response.status(503).json({ error: 'this server is stopping' });
      return;
    }
    attached.set(response, { request, offer: offerOf(identity) });
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
      forget();
      clearTimeout(timer);
      for (const response of attached.keys()) response.end();
    },
  };
}
