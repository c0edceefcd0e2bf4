import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { KnownError } from '../base/errors.ts';
import { currentTraceId } from '../base/tracing.ts';
import { isBranch, isProject, PROJECT_NAME } from '../input/names.ts';
import type { Identity } from './identity.ts';

/** The bearer token of a request, or null. */
function bearerToken(headers: IncomingHttpHeaders): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The API key or token of a request, as a bearer token or in X-API-Key, or null. */
export function apiKey(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-api-key'];
  return bearerToken(headers) ?? (typeof header === 'string' && header !== '' ? header : null);
}

/** The different keys and tokens that a request holds. */
export function keysIn({ headersDistinct }: Pick<Request, 'headersDistinct'>): Set<string> {
  const given = [...(headersDistinct.authorization ?? []), ...(headersDistinct['x-api-key'] ?? [])];
  return new Set(given.map((key) => key.replace(/^bearer +/i, '').trim()));
}

/** The client's address: that of the connection, or the one that a proxy of TRUSTED_PROXIES names. */
export const addressOf = (request: Request): string => request.ip ?? request.socket.remoteAddress ?? '';

const CORRELATION_ID = /^[\x21-\x7e]{1,200}$/;
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-|$)/;

/** A header as UTF-8: Node reads its bytes as Latin-1. */
export function textOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return null;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : null;
}

/** What the claims of an identity leave open, from the headers X-Correlation-Id, traceparent (W3C), X-L9-Project and X-L9-Branch. */
export function withHeaders(identity: Identity, headers: IncomingHttpHeaders): Identity {
  const correlationId = CORRELATION_ID.exec(String(headers['x-correlation-id'] ?? ''))?.[0] ?? null;
  const traceId = TRACEPARENT.exec(String(headers.traceparent ?? ''))?.[1] ?? null;
  const project = nameIn(headers, 'X-L9-Project', isProject, PROJECT_NAME);
  const branch = nameIn(
    headers,
    'X-L9-Branch',
    isBranch,
    '1 to 255 characters that Git allows as the name of a branch',
  );
  const ownDefault = identity.defaultProject ?? onlyProject(identity);
  const inferredProject = ownDefault === null && mayWorkIn(identity, project) ? project : null;
  const defaultProject = ownDefault ?? inferredProject;
  return {
    ...identity,
    correlationId: identity.correlationId ?? correlationId,
    defaultProject,
    inferredProject,
    // Another project than the caller's default has other branches.
    inferredBranch: project === null || project === defaultProject ? branch : null,
    // Where requests are traced, a request without the header begins a trace.
    traceId: identity.traceId ?? (traceId === null || /^0+$/.test(traceId) ? currentTraceId() : traceId),
  };
}

/** The name in a header, or null without it. A name that no project can have is refused: without it a search would cover every project. */
function nameIn(headers: IncomingHttpHeaders, header: string, isName: (name: string) => boolean, valid: string) {
  const field = header.toLowerCase();
  const name = textOf(headers, field);
  if (name === null && !headers[field]) return null;
  if (name === null || !isName(name)) throw new KnownError('L9VAL', `${header}: must be ${valid}`, header);
  return name;
}

const onlyProject = ({ projects }: Identity) => (projects?.length === 1 && projects[0] !== '*' ? projects[0]! : null);

/** A header is no permission: the project that the client works in may be one that the caller may not work in. */
const mayWorkIn = ({ projects }: Identity, project: string | null) =>
  project !== null && (projects === null || projects.includes('*') || projects.includes(project));
