// Who a session is: what its claims and its actor come to.
import type { World } from './memories.ts';

export type Role = 'l9_agent' | 'l9_admin' | 'l9_platform_admin';
/** Codes of docs/reference/errors.md. */
export type Code = 'L9AUT' | 'L9SCP' | 'L9OWN' | 'L9VAL' | 'L9IMM';

export interface Tenant {
  id: string;
  isActive: boolean;
  /** Scope → whether its memories belong to projects. */
  scopes: Map<string, boolean>;
  /** Org → whether it is active. */
  orgs: Map<string, boolean>;
  /** User → the one org that tokens for it must name; null: any. */
  users: Map<string, string | null>;
}

/** Scopes are listed by name; `*` is every scope of the tenant. */
export interface Actor {
  tenant: string;
  caller: string;
  creator: string;
  role: Role;
  reads: string[];
  writes: string[];
  cleansUp: boolean;
  isActive: boolean;
}

/** What a session says of itself. A list that is null was not claimed, and limits nothing. */
export interface Claims {
  role: Role;
  tenant: string | null;
  caller: string | null;
  scopes: string[] | null;
  projects: string[] | null;
  org: string | null;
  user: string | null;
}

/** Who a session is, after its claims were cut down by its actor. */
export interface Identity {
  tenant: string;
  org: string | null;
  user: string | null;
  caller: string;
  creator: string;
  role: Role;
  reads: string[];
  writes: string[];
  projects: string[];
  cleansUp: boolean;
}

/** Nobody, unless tenant and caller name an active actor, its role is the session's, and org and user are good. */
export function identityOf(world: World, claims: Claims): Identity | null {
  const tenant = world.tenants.find(({ id, isActive }) => id === claims.tenant && isActive);
  const actor = world.actors.find((one) => one.tenant === tenant?.id && one.caller === claims.caller && one.isActive);
  if (!tenant || !actor || actor.role !== claims.role) return null;
  const { org, user } = claims;
  if (![org, user].every((id) => id === null || isUuid(id))) return null;
  if (org !== null && tenant.orgs.get(org) === false) return null;
  if (user !== null && (tenant.users.get(user) ?? org) !== org) return null;
  const effective = (registered: string[]) =>
    [...tenant.scopes.keys()].filter((scope) => has(registered, scope) && has(claims.scopes ?? ['*'], scope)).sort();
  const { caller, creator, role, cleansUp } = actor;
  return {
    tenant: tenant.id,
    org,
    user,
    caller,
    creator,
    role,
    cleansUp,
    reads: effective(actor.reads),
    writes: effective(actor.writes),
    projects: claims.projects ?? ['*'],
  };
}

/** The source that is stamped on what a caller saves. */
export const sourceOf = (caller: string): string =>
  ({ C: 'cursor-ide', L: 'l9-kernel' })[caller] ?? caller.toLowerCase();

const isUuid = (id: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);

export const has = (list: string[], name: string) => list.includes('*') || list.includes(name);
