import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import { isBranch, isProject } from '../names.ts';
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
  const ownDefault = identity.defaultProject ?? onlyProject(identity);
  const inferredProject = ownDefault === null ? projectOfHeaders(identity, headers) : null;
  const defaultProject = ownDefault ?? inferredProject;
  return {
    ...identity,
    correlationId: identity.correlationId ?? correlationId,
    defaultProject,
    inferredProject,
    inferredBranch: branchOfHeaders(defaultProject, headers),
    traceId: identity.traceId ?? (traceId === null || /^0+$/.test(traceId) ? null : traceId),
  };
}

const onlyProject = ({ projects }: Identity) => (projects?.length === 1 && projects[0] !== '*' ? projects[0]! : null);

/** The project that the client works in, if the caller may work in it too: a header is no permission. */
function projectOfHeaders({ projects }: Identity, headers: IncomingHttpHeaders): string | null {
  const given = headers['x-l9-project'];
  const project = typeof given === 'string' && isProject(given) ? given : null;
  const isAllowed = projects === null || projects.includes('*') || (project !== null && projects.includes(project));
  return isAllowed ? project : null;
}

/** The branch that the client works in, unless it is one of another project than the caller's default. */
function branchOfHeaders(defaultProject: string | null, headers: IncomingHttpHeaders): string | null {
  const branch = textOf(headers, 'x-l9-branch');
  const project = headers['x-l9-project'] || null;
  return branch !== null && isBranch(branch) && (project === null || project === defaultProject) ? branch : null;
}
