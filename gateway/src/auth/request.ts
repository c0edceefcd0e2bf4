import type { IncomingHttpHeaders } from 'node:http';

/** The bearer token of a request, or null. */
export function bearerToken(headers: IncomingHttpHeaders): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The API key of a request, as a bearer token or in X-API-Key, or null. */
export function apiKey(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-api-key'];
  return bearerToken(headers) ?? (typeof header === 'string' && header !== '' ? header : null);
}
