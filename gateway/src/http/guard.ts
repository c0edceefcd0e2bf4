// Host and Origin checks against DNS rebinding and cross-site requests. Clients that are no browsers send no Origin and pass.
import type { Express, NextFunction, Request, Response } from 'express';
import { keysIn } from '../auth/request.ts';
import { KnownError } from '../base/errors.ts';

const PATHS = [
  '/graphql',
  '/mcp',
  '/archives',
  '/console',
  '/attach',
  '/health',
  '/ready',
  '/metrics',
  '/register',
  '/.well-known',
];

/** The headers that a page may send, and those of an answer that it may read. */
const REQUEST_HEADERS =
  'Authorization, Content-Type, Accept, X-API-Key, X-Correlation-Id, X-L9-Project, X-L9-Branch, MCP-Protocol-Version, MCP-Session-Id, traceparent';
const RESPONSE_HEADERS = 'Retry-After, WWW-Authenticate, X-Request-Id, MCP-Protocol-Version';
const PREFLIGHT_SECONDS = 600;

/** The answer of CORS to a page that may call. True if the request was only the question whether it may. */
function admitPage({ method, headers }: Request, response: Response): boolean {
  response.set('Access-Control-Allow-Origin', headers.origin!).vary('Origin');
  response.set('Access-Control-Expose-Headers', RESPONSE_HEADERS);
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  response.set('Access-Control-Allow-Methods', 'GET, POST').set('Access-Control-Allow-Headers', REQUEST_HEADERS);
  response.set('Access-Control-Max-Age', String(PREFLIGHT_SECONDS)).status(204).end();
  return true;
}

interface GuardOptions {
  /** What the gateway listens on. */
  host: string;
  /** Host names it is reached by, besides those of this machine; null allows any, unless it listens on loopback only. */
  allowedHosts: readonly string[] | null;
}

export const isLoopback = (name: string) =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '[::1]' ||
  name === '::1' ||
  /^127(\.\d+){3}$/.test(name);

/** The parts of an origin, or null if it is not one. */
function parse(origin: string): { name: string; authority: string; protocol: string } | null {
  if (!URL.canParse(origin)) return null;
  const { hostname, host, protocol } = new URL(origin);
  return { name: hostname.toLowerCase(), authority: host.toLowerCase(), protocol };
}

export function mountGuard(app: Express, { host, allowedHosts }: GuardOptions): void {
  const isAnyName = allowedHosts === null && !isLoopback(host);
  const isListed = (name: string) =>
    allowedHosts?.some((listed) => listed === name || listed === name.replace(/^[^.]+/, '*')) === true;

  app.use(PATHS, (request: Request, response: Response, next: NextFunction) => {
    const { headers } = request;
    const asked = /^[\w.:[\]-]+$/.test(headers.host ?? '') ? parse(`http://${headers.host}`) : null;
    if (!asked || !(isAnyName || isLoopback(asked.name) || isListed(asked.name))) {
      throw new KnownError('L9SCP', 'host: not an allowed host name; add it to ALLOWED_HOSTS');
    }
    if (headers.origin !== undefined) {
      const from = parse(headers.origin);
      const isPage = !from || from.protocol === 'http:' || from.protocol === 'https:';
      const isOurs =
        from &&
        (from.authority === asked.authority ||
          isListed(from.name) ||
          (isLoopback(from.name) && isLoopback(asked.name)));
      if (isPage && !isOurs) {
        throw new KnownError('L9SCP', 'origin: pages of this site are not allowed; add its host to ALLOWED_HOSTS');
      }
      if (admitPage(request, response)) return;
    }
    // With two different keys it would be ambiguous who calls.
    if (keysIn(request).size > 1) {
      throw new KnownError('L9AUT', 'more than one key or token: send only one');
    }
    next();
  });
}
