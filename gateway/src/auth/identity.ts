import type { Settings } from '../database/index.ts';

/** The tenant that every installation starts with. */
export const DEFAULT_TENANT = '00000000-0000-7000-8000-000000000001';

/** The actor of the person at this machine, who can read the secrets of the installation: the caller of commands and of the console. */
export const PERSON = 'me';

/** The verified claims of a caller. The database limits what they grant. */
export interface Identity {
  caller: string;
  /** The caller whose key a client has that is known by its name alone. The database checks that. Null: the key is its own. */
  via: string | null;
  role: string;
  tenantId: string;
  /** Null: all scopes of the actor. */
  scopes: readonly string[] | null;
  projects: readonly string[] | null;
  /** The project of what it saves without naming one. The database checks that it may work in it. */
  defaultProject: string | null;
  /** The project of the client's working copy, where it decides: it also narrows what is searched. */
  inferredProject: string | null;
  /** The branch of the client's working copy. */
  inferredBranch: string | null;
  orgId: string | null;
  /** The name of that org. */
  orgName: string | null;
  userId: string | null;
  /** The stored API key of the request; the database checks that it is still valid. */
  keyId: string | null;
  /** The tool sets that its key is cut down to. Null: all. */
  toolSets: readonly string[] | null;
  /** The set of the tool that is being called, which the database compares with the sets of the key. */
  toolSet: string | null;
  /** References of the call: what it belongs to. Claims go before headers. */
  correlationId: string | null;
  sessionId: string | null;
  traceId: string | null;
}

/** Names the client of a request: a key, or a user of a caller. */
export const clientOf = ({ caller, tenantId, userId, keyId }: Identity): string =>
  [caller, tenantId, userId ?? '', keyId ?? ''].join('\n');

/** Whether the caller decides about memories that wait for a review. The database checks it, too. */
export const isReviewer = ({ role }: Identity): boolean => role === 'l9_admin';

const STATEMENT_TIMEOUT = '30s';

/** The settings of a transaction on behalf of this caller, running this tool. */
export function toSettings(identity: Identity, toolName: string): Settings {
  const list = (values: readonly string[] | null) =>
    values === null || values.includes('*') ? '' : JSON.stringify(values);
  return {
    role: identity.role,
    statement_timeout: STATEMENT_TIMEOUT,
    // A day, or a time without a zone, is in UTC, wherever the server stands.
    timezone: 'UTC',
    'jwt.claims.tenant_id': identity.tenantId,
    'jwt.claims.org_id': identity.orgId ?? '',
    'jwt.claims.user_id': identity.userId ?? '',
    'jwt.claims.caller': identity.caller,
    'jwt.claims.via': identity.via ?? '',
    'jwt.claims.scopes': list(identity.scopes),
    'jwt.claims.projects': list(identity.projects),
    'jwt.claims.default_project': identity.defaultProject ?? '',
    'jwt.claims.default_branch': identity.inferredBranch ?? '',
    'jwt.claims.key_id': identity.keyId ?? '',
    'jwt.claims.correlation_id': identity.correlationId ?? '',
    'jwt.claims.session_id': identity.sessionId ?? '',
    'jwt.claims.trace_id': identity.traceId ?? '',
    'l9.tool_name': toolName,
    'l9.tool_set': identity.toolSet ?? '',
  };
}
