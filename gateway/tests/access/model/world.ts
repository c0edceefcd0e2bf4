// The tenants of the model-based test with their orgs, users, projects and scopes, actors of every role, and sessions whose
// claims match their rights, are narrower, are wider, or are invalid.
import { DEFAULT_TENANT } from '../../../src/auth/identity.ts';
import type { Settings } from '../../../src/database/index.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { type Actor, type Claims, identityOf, type Role, type Tenant, type World } from '../model.ts';
import { nothingKnown } from './knowledge.ts';

export interface Session {
  name: string;
  claims: Claims;
  /** The same for SQL. */
  settings: Settings;
  /** For GraphQL; null: it comes without. */
  token: string | null;
  /** For MCP; null: it can't come in by that API. */
  apiKey: string | null;
}

const org = {
  blue: '11111111-1111-4111-8111-111111111111',
  red: '22222222-2222-4222-8222-222222222222',
  closed: '33333333-3333-4333-8333-333333333333',
};
const user = { ann: '44444444-4444-4444-8444-444444444444', bob: '55555555-5555-4555-8555-555555555555' };

// Two that begin alike, and one that differs in case.
export const projects = ['l9', 'l9-more', 'L9'];
// Two that differ in case, and one with a slash.
export const branches = ['main', 'Main', 'fix/main'];
export const kinds = ['note', 'finding', 'claim', 'claim', 'claim', 'event', 'reasoning_trace'];
/** What an envelope must hold besides the content. */
export const envelopes: Record<string, object> = {
  event: { event_type: 'tick' },
  reasoning_trace: { steps: ['first this, then that'] },
};
/** The actor that is deactivated, comes back, and gets other scopes while the test runs. */
export const changing = { tenant: DEFAULT_TENANT, caller: 'Changing' };

/** Makes them as an administrator does, with the functions for it, and opens their sessions. */
export async function populate(gateway: TestGateway): Promise<{ world: World; sessions: Session[] }> {
  const run = async (name: string, given: Record<string, unknown>) => {
    const named = Object.keys(given).map((parameter, index) => `${parameter} => $${index + 1}`);
    const [row] = await gateway.asSuperuser(`select r.* from public.${name}(${named}) r`, Object.values(given));
    return row;
  };
  const createTenant = async (name: string) => (await run('create_tenant', { name })).tenant_id as string;
  const ids = { first: DEFAULT_TENANT, other: await createTenant('other'), closed: await createTenant('closed') };
  const world = createWorld(ids);

  for (const { id, orgs, users, scopes, isActive } of world.tenants) {
    for (const [scope, hasProjects] of scopes) {
      if (!builtIn.has(scope)) await run('register_scope', { scope, is_project_scoped: hasProjects, tenant_id: id });
    }
    for (const [org_id, isOpen] of orgs) {
      await run('create_org', { name: `org ${org_id}`, org_id, tenant_id: id });
      if (!isOpen) await run('deactivate_org', { org_id, tenant_id: id });
    }
    for (const [user_id, org_id] of users) {
      await run('create_user', { name: `user ${user_id}`, user_id, org_id, tenant_id: id });
    }
    await run('register_predicate', { predicate: 'is', tenant_id: id });
    for (const actor of world.actors.filter(({ tenant, caller }) => tenant === id && !(caller in builtInActors))) {
      const { caller, creator, role, reads, writes, cleansUp } = actor;
      await run('register_actor', {
        caller,
        creator,
        role,
        tenant_id: id,
        readable_scopes: reads,
        writable_scopes: writes,
        can_clean_up: cleansUp,
      });
    }
    if (!isActive) await run('deactivate_tenant', { tenant_id: id });
  }

  const sessions: Session[] = [];
  for (const [name, given] of Object.entries(sessionClaims(ids))) {
    const claims: Claims = {
      role: 'l9_agent',
      tenant: ids.first,
      caller: null,
      scopes: null,
      projects: null,
      org: null,
      user: null,
      ...given,
    };
    const { role, tenant, caller, org: orgId, user: userId } = claims;
    const lists = { scopes: claims.scopes ?? undefined, projects: claims.projects ?? undefined };
    const token = caller
      ? await gateway.token({
          ...lists,
          caller,
          role,
          expires: '1h',
          tenantId: tenant ?? undefined,
          orgId: orgId ?? undefined,
          userId: userId ?? undefined,
        })
      : null;
    const apiKey = identityOf(world, claims)
      ? (await run('create_api_key', { name, caller, tenant_id: tenant, org_id: orgId, user_id: userId, ...lists }))
          .api_key
      : null;
    sessions.push({ name, claims, token, apiKey, settings: settingsOf(claims) });
  }
  return { world, sessions };
}

const builtIn = new Map([
  ['developer', true],
  ['l-private', true],
  ['global', false],
]);
const builtInActors: Record<string, Omit<Actor, 'tenant' | 'caller'>> = {
  L: { creator: 'L-CTO', role: 'l9_admin', reads: ['*'], writes: ['*'], cleansUp: true, isActive: true },
  C: {
    creator: 'Cursor-IDE',
    role: 'l9_agent',
    cleansUp: false,
    isActive: true,
    reads: ['developer', 'global'],
    writes: ['developer', 'global'],
  },
};

interface TenantIds {
  first: string;
  other: string;
  closed: string;
}

function createWorld(ids: TenantIds): World {
  const tenant = (id: string, more: Partial<Tenant> & { scopes?: Map<string, boolean> } = {}): Tenant => ({
    id,
    isActive: true,
    orgs: new Map(),
    users: new Map(),
    ...more,
    scopes: new Map([...builtIn, ...(more.scopes ?? [])]),
  });
  const both = (id: string): Actor[] =>
    Object.entries(builtInActors).map(([caller, one]) => ({ tenant: id, caller, ...one }));
  const actor = (caller: string, role: Role, reads: string[], writes: string[], cleansUp = false): Actor => ({
    tenant: ids.first,
    caller,
    creator: caller,
    role,
    reads,
    writes,
    cleansUp,
    isActive: true,
  });
  return {
    tenants: [
      tenant(ids.first, {
        scopes: new Map([
          ['research', true],
          ['notices', false],
        ]),
        orgs: new Map([
          [org.blue, true],
          [org.red, true],
          [org.closed, false],
        ]),
        // Ann works for any org, Bob for one.
        users: new Map([
          [user.ann, null],
          [user.bob, org.blue],
        ]),
      }),
      tenant(ids.other, { scopes: new Map([['research', true]]) }),
      tenant(ids.closed, { isActive: false }),
    ],
    actors: [
      ...[ids.first, ids.other, ids.closed].flatMap(both),
      actor('Scribe', 'l9_agent', ['developer', 'research', 'global'], ['research', 'global'], true),
      actor('Reader', 'l9_agent', ['developer', 'notices'], []),
      actor('Manager', 'l9_admin', ['*'], ['developer', 'notices']),
      actor('Operator', 'l9_platform_admin', ['*'], ['*']),
      actor(changing.caller, 'l9_agent', ['developer', 'global'], ['developer', 'global']),
    ],
    memories: new Map(),
    archives: new Map(),
    answers: new Map(),
    knowledge: nothingKnown(),
    rules: [],
    holding: new Set(),
    onApproval: new Map(),
    merges: new Map(),
  };
}

/** Who comes: name → what it claims besides the first tenant and the role of an agent. */
const sessionClaims = ({ other, closed }: TenantIds): Record<string, Partial<Claims>> => ({
  C: { caller: 'C' },
  L: { caller: 'L', role: 'l9_admin' },
  'C in one project': { caller: 'C', projects: ['l9'] },
  'C in one scope': { caller: 'C', scopes: ['global'] },
  'C that claims more': { caller: 'C', scopes: ['developer', 'l-private', 'research', 'global'] },
  'C in org blue': { caller: 'C', org: org.blue },
  'C for Ann of org blue': { caller: 'C', org: org.blue, user: user.ann },
  'C for Bob of org blue': { caller: 'C', org: org.blue, user: user.bob },
  'C for Ann of org red': { caller: 'C', org: org.red, user: user.ann },
  'L in one scope and project': { caller: 'L', role: 'l9_admin', scopes: ['developer'], projects: ['l9-more'] },
  'L in org red': { caller: 'L', role: 'l9_admin', org: org.red },
  'Scribe, an agent that cleans up': { caller: 'Scribe' },
  'Scribe in org blue': { caller: 'Scribe', org: org.blue },
  'Reader, an agent that writes nothing': { caller: 'Reader' },
  'Manager, an admin that writes not all it reads': { caller: 'Manager', role: 'l9_admin' },
  'Operator, across tenants': { caller: 'Operator', role: 'l9_platform_admin' },
  'the actor that changes': { caller: changing.caller },
  'the actor that changes, in projects': { caller: changing.caller, projects: ['l9', 'L9'] },
  'L of the other tenant': { caller: 'L', role: 'l9_admin', tenant: other },
  'C of the other tenant': { caller: 'C', tenant: other },
  'C of the other tenant, in a project': { caller: 'C', tenant: other, projects: ['l9'] },
  'nobody: no claims': { tenant: null },
  'nobody: no caller': {},
  'nobody: an unknown caller': { caller: 'Stranger' },
  'nobody: a caller of another tenant': { caller: 'Scribe', tenant: other },
  'nobody: L under the role of an agent': { caller: 'L' },
  'nobody: C under the role of an admin': { caller: 'C', role: 'l9_admin' },
  'nobody: C under the role of an operator': { caller: 'C', role: 'l9_platform_admin' },
  'nobody: a malformed org': { caller: 'C', org: 'blue' },
  'nobody: a closed org': { caller: 'C', org: org.closed },
  'nobody: Bob of another org than his': { caller: 'C', org: org.red, user: user.bob },
  'nobody: L of a closed tenant': { caller: 'L', role: 'l9_admin', tenant: closed },
});

function settingsOf({ role, tenant, caller, scopes, projects, org: orgId, user: userId }: Claims): Settings {
  return {
    role,
    'jwt.claims.tenant_id': tenant ?? '',
    'jwt.claims.caller': caller ?? '',
    'jwt.claims.org_id': orgId ?? '',
    'jwt.claims.user_id': userId ?? '',
    'jwt.claims.scopes': scopes ? JSON.stringify(scopes) : '',
    'jwt.claims.projects': projects ? JSON.stringify(projects) : '',
  };
}
