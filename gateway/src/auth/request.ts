import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import type { Identity } from './identity.ts';

/** The bearer token of a request, or null. */
export function bearerToken(headers: IncomingHttpHeaders): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The API key of a request, as a bearer token or in X-API-Key, or null. */
export function apiKey(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-api-key'];
  return bearerToken(headers) ?? (typeof header === 'string' && header !== '' ? header : null);
}

/** The client's address: that of the connection, or the one that a proxy of TRUSTED_PROXIES names. */
export const addressOf = (request: Request): string => request.ip ?? request.socket.remoteAddress ?? '';

const CORRELATION_ID = /^[\x21-\x7e]{1,200}$/;
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-|$)/;

const PROJECT = /^[A-Za-z0-9._/@:+-]{1,200}$/;

/** What the claims of an identity leave open, from the headers X-Correlation-Id, traceparent (W3C) and X-L9-Project. */
export function withHeaders(identity: Identity, headers: IncomingHttpHeaders): Identity {
  const correlationId = CORRELATION_ID.exec(String(headers['x-correlation-id'] ?? ''))?.[0] ?? null;
  const traceId = TRACEPARENT.exec(String(headers.traceparent ?? ''))?.[1] ?? null;
  const ownDefault = identity.defaultProject ?? onlyProject(identity);
  const inferredProject = ownDefault === null ? projectOfHeaders(identity, headers) : null;
  return {
    ...identity,
    correlationId: identity.correlationId ?? correlationId,
    defaultProject: ownDefault ?? inferredProject,
    inferredProject,
    traceId: identity.traceId ?? (traceId === null || /^0+$/.test(traceId) ? null : traceId),
  };
}

const onlyProject = ({ projects }: Identity) => (projects?.length === 1 && projects[0] !== '*' ? projects[0]! : null);

/** The project that the client works in, if the caller may work in it too: a header is no permission. */
function projectOfHeaders({ projects }: Identity, headers: IncomingHttpHeaders): string | null {
  const project = PROJECT.exec(String(headers['x-l9-project'] ?? ''))?.[0] ?? null;
  const isAllowed = projects === null || projects.includes('*') || (project !== null && projects.includes(project));
  return isAllowed ? project : null;
}
