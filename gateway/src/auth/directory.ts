import { timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { KnownError, sqlstateOf } from '../base/errors.ts';
import type { Database } from '../database/index.ts';
import type { Identity } from './identity.ts';
import type { CallLimits } from './rate-limits.ts';

const REFRESH_MS = 5_000;

/** The claims of a token or key, before they are checked against the directory. */
export type Claims = Omit<Identity, 'role' | 'orgName'> & { role: string | null };

/** Claims that do not restrict the rights of the actor. */
export const claimsOf = (caller: string, tenantId: string): Claims => ({
  caller,
  via: null,
  role: null,
  tenantId,
  scopes: null,
  projects: null,
  defaultProject: null,
  inferredProject: null,
  inferredBranch: null,
  orgId: null,
  userId: null,
  keyId: null,
  toolSets: null,
  toolSet: null,
  correlationId: null,
  sessionId: null,
  traceId: null,
});

/** An in-memory copy of the actors, scopes and keys in the database, so that unknown callers cost no database call. */
export type Directory = Awaited<ReturnType<typeof openDirectory>>;

interface Limited {
  tenant_id: string;
  reads_per_minute: number;
  writes_per_minute: number;
}

interface Listing {
  actors: (Limited & { caller: string; role: string; registered_by: string | null })[];
  tenants: Limited[];
  scopes: { tenant_id: string; scope: string }[];
  orgs: { tenant_id: string; org_id: string; name: string; is_active: boolean }[];
  limited_users: { tenant_id: string; user_id: string; org_id: string | null; is_active: boolean }[];
  api_keys: {
    key_id: string;
    hash: string;
    tenant_id: string;
    caller: string;
    org_id: string | null;
    user_id: string | null;
    scopes: string[] | null;
    projects: string[] | null;
    default_project: string | null;
    tool_sets: string[] | null;
    expires_at: string | null;
  }[];
}

interface ApiKey {
  hash: Buffer;
  expiresAt: number;
  claims: Claims;
}

const limitsIn = ({ reads_per_minute: reads, writes_per_minute: writes }: Limited): CallLimits => ({ reads, writes });
// Of an actor or tenant that was deactivated after its request was admitted.
const NONE: CallLimits = { reads: 0, writes: 0 };

// Names hold no line feeds.
const join = (tenantId: string, name: string) => `${tenantId}\n${name}`;
// The index is by hash, not by key, so the time of a lookup reveals nothing about the keys.
const slot = (hash: Buffer) => hash.toString('hex', 0, 8);

function index(listing: Listing) {
  const keys = new Map<string, ApiKey[]>();
  for (const key of listing.api_keys) {
    const hash = Buffer.from(key.hash, 'hex');
    const expiresAt = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at);
    const claims = {
      ...claimsOf(key.caller, key.tenant_id),
      scopes: key.scopes,
      projects: key.projects,
      defaultProject: key.default_project,
      orgId: key.org_id,
      userId: key.user_id,
      keyId: key.key_id,
      toolSets: key.tool_sets,
    };
    keys.set(slot(hash), [...(keys.get(slot(hash)) ?? []), { hash, expiresAt, claims }]);
  }
  return {
    roles: new Map(listing.actors.map((actor) => [join(actor.tenant_id, actor.caller), actor.role])),
    registeredBy: new Map(listing.actors.map((actor) => [join(actor.tenant_id, actor.caller), actor.registered_by])),
    limits: new Map(listing.actors.map((actor) => [join(actor.tenant_id, actor.caller), limitsIn(actor)])),
    limitsOfTenants: new Map(listing.tenants.map((tenant) => [tenant.tenant_id, limitsIn(tenant)])),
    scopes: new Set(listing.scopes.map(({ tenant_id, scope }) => join(tenant_id, scope))),
    orgs: new Map(listing.orgs.map((org) => [join(org.tenant_id, org.org_id), org])),
    users: new Map(listing.limited_users.map((user) => [join(user.tenant_id, user.user_id), user])),
    keys,
  };
}

/** An error that names the caller for the audit log. Only for claims with a valid signature or a known key. */
function denied({ tenantId, caller }: Claims, field: string, reason: string): KnownError {
  const error = new KnownError('L9AUT', `${field}: ${reason}`, field);
  error.claimed = { tenantId, caller };
  return error;
}

/**
 * Loads the directory, and reloads it when the database notifies a change. A stale copy is safe: the database checks the
 * claims again in every transaction.
 */
export async function openDirectory(database: Database, logger: Logger) {
  let current: ReturnType<typeof index>;
  let reading: Promise<void> | null = null;
  let isStale = false;
  const listeners = new Set<() => void>();

  const read = async () => {
    const { rows } = await database.workerPool.query<{ listing: Listing }>(
      'select administration.identity_directory() as listing',
    );
    current = index(rows[0]!.listing);
    for (const listener of listeners) listener();
  };

  /** Reloads once at a time. A request during a reload gets the next one, because the current may have begun too early. */
  const refresh = async (): Promise<void> => {
    if (reading) {
      isStale = true;
      return reading;
    }
    reading = (async () => {
      try {
        do {
          isStale = false;
          await read();
        } while (isStale);
      } finally {
        reading = null;
      }
    })();
    return reading;
  };
  const refreshQuietly = () => {
    refresh().catch((error: Error) =>
      logger.warn({ code: sqlstateOf(error) }, 'could not reload the directory of callers'),
    );
  };

  // What somebody may do has changed: no replica is read that does not know it yet.
  const requireOnReplicas = () => void database.replicas?.requirePresent();
  const unlisten = await database.listen('l9_identity', () => {
    requireOnReplicas();
    refreshQuietly();
  });
  try {
    await refresh();
  } catch (error) {
    await unlisten();
    throw error;
  }
  // Notifications may be lost, for instance behind a pooler that shares connections.
  const timer = setInterval(() => {
    if (!database.isResting()) refreshQuietly();
  }, REFRESH_MS).unref();

  return {
    /** The identity of these claims, with the role of the actor. Throws L9AUT with the name of an invalid claim. */
    admit(claims: Claims): Identity {
      const { tenantId, caller, orgId, userId } = claims;
      const role = current.roles.get(join(tenantId, caller));
      if (!role) throw denied(claims, 'caller', 'not a known caller of this tenant');
      if (claims.role !== null && claims.role !== role) throw denied(claims, 'role', 'not the role of this caller');
      for (const scope of claims.scopes ?? []) {
        if (scope !== '*' && !current.scopes.has(join(tenantId, scope)))
          throw denied(claims, 'scopes', 'not all of these scopes are registered');
      }
      const org = orgId === null ? undefined : current.orgs.get(join(tenantId, orgId));
      if (org && !org.is_active) throw denied(claims, 'org_id', 'not active');
      const user = userId === null ? undefined : current.users.get(join(tenantId, userId));
      if (user && !user.is_active) throw denied(claims, 'user_id', 'not active');
      if (user && user.org_id !== null && user.org_id !== orgId)
        throw denied(claims, 'user_id', 'not a user of this org');
      return { ...claims, role, orgName: org?.name ?? null };
    },
    /** The caller whose key a client calls with that is known by its name alone. Null: an administrator registered this actor. */
    registeredBy: (tenantId: string, caller: string): string | null =>
      current.registeredBy.get(join(tenantId, caller)) ?? null,
    /** The claims of the API key with this SHA-256, or null. */
    findKey(hash: Buffer): Claims | null {
      const key = current.keys.get(slot(hash))?.find((candidate) => timingSafeEqual(candidate.hash, hash));
      return key && key.expiresAt > Date.now() ? key.claims : null;
    },
    /** How many calls a minute are admitted from each key of the actor, and from the whole tenant. */
    limitsOf: ({ tenantId, caller }: Identity) => ({
      key: current.limits.get(join(tenantId, caller)) ?? NONE,
      tenant: current.limitsOfTenants.get(tenantId) ?? NONE,
    }),
    refresh() {
      requireOnReplicas();
      return refresh();
    },
    /** Calls back whenever the directory was read again; returns how to stop that. */
    onRead(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      clearInterval(timer);
      await unlisten();
      await reading?.catch(() => {});
    },
  };
}
