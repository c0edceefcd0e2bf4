// The access rules as plain values and functions, which the policies, triggers and functions of the database have to match.
// They are written from the rules, not from the SQL, and kept simple, so that they can be read as the rules.
import { follow, forgetDerived, type Knowledge, mayFollow } from './model/knowledge.ts';

export type Role = 'l9_agent' | 'l9_admin' | 'l9_platform_admin';
/** Codes of docs/reference/errors.md. */
export type Code = 'L9AUT' | 'L9SCP' | 'L9OWN' | 'L9VAL';

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

/** What an update can replace. */
export interface State {
  scope: string;
  project: string | null;
  /** Of the project; null: every branch. It decides nothing but what is the same, and what a search is narrowed to. */
  branch: string | null;
  kind: string;
  content: string;
  /** Who saved it: the same in all states. */
  creator: string;
  /** The caller that changed it to this state; null: it is as it was saved. */
  updatedBy: string | null;
}

export interface Memory extends State {
  id: string;
  tenant: string;
  org: string | null;
  user: string | null;
  parents: string[];
  isExpired: boolean;
  /** What it said before, the oldest first. */
  versions: State[];
}

export interface World {
  tenants: Tenant[];
  actors: Actor[];
  memories: Map<string, Memory>;
  /** The first request with each idempotency key of a caller, its org and its user, and the answer to it. */
  answers: Map<string, { status: SaveStatus; id: string; request: string }>;
  /** What was made of memories. */
  knowledge: Knowledge;
}

export type SaveStatus = 'inserted' | 'skipped_dedupe';

// Who is it?

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

const isUuid = (id: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);

const has = (list: string[], name: string) => list.includes('*') || list.includes(name);

// What may it do with a memory that is there?

/** Whether the same people may read both. */
export const isForTheSame = (one: Memory, other: Memory) =>
  one.tenant === other.tenant &&
  one.org === other.org &&
  one.user === other.user &&
  one.scope === other.scope &&
  one.project === other.project;

/** Tenant, then org, then user (an admin has its whole tenant), then the projects of the claims. Names match exactly. */
const isWithinReach = (me: Identity, memory: Memory) =>
  memory.tenant === me.tenant &&
  (me.role === 'l9_admin' ||
    ((memory.org === null || memory.org === me.org) && (memory.user === null || memory.user === me.user))) &&
  (memory.project === null || has(me.projects, memory.project));

/** Scope decides, never the author. What has expired is gone for everyone. Operators read across tenants. */
export const maySee = (me: Identity | null, memory: Memory): boolean =>
  me !== null &&
  !memory.isExpired &&
  (me.role === 'l9_platform_admin' || (isWithinReach(me, memory) && me.reads.includes(memory.scope)));

/** What it sees and may write: agents only what they wrote themselves, admins anyone's, operators nothing. */
export const mayChange = (me: Identity | null, memory: Memory): boolean =>
  me !== null &&
  me.role !== 'l9_platform_admin' &&
  maySee(me, memory) &&
  me.writes.includes(memory.scope) &&
  (me.role === 'l9_admin' || memory.creator === me.creator);

/** Expired memories that the caller could have seen and may write, of any author. */
const mayCleanUp = (me: Identity, memory: Memory): boolean =>
  memory.isExpired && me.cleansUp && isWithinReach(me, memory) && me.writes.includes(memory.scope);

/** A state is for those who may see the memory as it is now, and could have seen it as it was. */
const maySeeState = (me: Identity | null, memory: Memory, state: State): boolean =>
  me !== null && maySee(me, memory) && maySee(me, { ...memory, ...state });

export const visible = (world: World, me: Identity | null): Memory[] =>
  [...world.memories.values()].filter((memory) => maySee(me, memory));

// What comes of an operation? Either the error, one of those that its input deserves (which of them is named first is no
// rule), or what it does. `commit` makes it so in the model.

export type Expected<Done> = { refused: Code[] } | ({ refused: null } & Done);

const refuse = (...refused: Code[]) => ({ refused });

/** Nobody is told the same of everything: who it is not, or nothing. */
const toNobody = refuse('L9AUT', 'L9OWN', 'L9SCP');

export interface Wanted {
  content: string;
  scope: string;
  project: string | null;
  branch: string | null;
  kind: string;
  parents: string[];
  expiry: 'never' | 'later' | 'soon' | 'past';
  idempotencyKey: string | null;
}

/**
 * SQL that goes straight to the table obeys the same rules, but is not helped along: a duplicate is an error, and a row that
 * it may not change is, as for any UPDATE or DELETE, none.
 */
export type Way = 'function' | 'table';

export function save(
  world: World,
  me: Identity | null,
  wanted: Wanted,
  way: Way,
): Expected<
  | { status: 'inserted'; commit(id: string): void }
  | { status: SaveStatus; memory: Memory; isRetry: boolean; commit(): void }
> {
  if (!me) return isBlank(wanted.content) ? refuse('L9AUT', 'L9SCP', 'L9VAL') : refuse('L9AUT', 'L9SCP');
  if (me.role === 'l9_platform_admin') return refuse('L9SCP');
  if (wanted.expiry === 'past') return refuse('L9VAL');

  // A retry gets the first answer again, as long as its memory is there for the caller. Another request is refused.
  const key =
    wanted.idempotencyKey === null
      ? null
      : JSON.stringify([me.tenant, me.caller, me.org, me.user, wanted.idempotencyKey]);
  const request = JSON.stringify(wanted);
  const first = key === null ? undefined : world.answers.get(key);
  const known = first && world.memories.get(first.id);
  if (known && maySee(me, known)) {
    if (first.request !== request) return refuse('L9VAL');
    return { refused: null, status: first.status, memory: known, isRetry: true, commit() {} };
  }
  const remember = (status: SaveStatus, id: string) => {
    if (key !== null) world.answers.set(key, { status, id, request });
  };

  const { scope, branch, kind, content, parents } = wanted;
  const project = wanted.project ?? (way === 'function' ? onlyProject(world, me, scope) : null);
  const draft: Memory = {
    id: LATEST,
    tenant: me.tenant,
    org: me.org,
    user: me.user,
    scope,
    project,
    branch,
    kind,
    content,
    creator: me.creator,
    updatedBy: null,
    parents: [...new Set(parents)].sort(),
    isExpired: false,
    versions: [],
  };
  const wrong = faultsOf(world, me, draft);
  if (wrong.length > 0) return refuse(...wrong);

  const twin = twinOf(world, draft);
  if (twin && !twin.isExpired) {
    if (way === 'table') return refuse('L9VAL');
    return {
      refused: null,
      status: 'skipped_dedupe',
      memory: twin,
      isRetry: false,
      commit: () => remember('skipped_dedupe', twin.id),
    };
  }
  return {
    refused: null,
    status: 'inserted',
    commit(id) {
      // What has expired stands in nobody's way.
      if (twin) forget(world, twin.id);
      world.memories.set(id, { ...draft, id });
      remember('inserted', id);
    },
  };
}

export type Change = Partial<Pick<Wanted, 'content' | 'scope' | 'project' | 'branch' | 'kind' | 'parents' | 'expiry'>>;

export function update(
  world: World,
  me: Identity | null,
  memory: Memory | undefined,
  change: Change,
  way: Way,
): Expected<{ commit(): void }> {
  if (!me) return toNobody;
  if (me.role === 'l9_platform_admin') return refuse('L9SCP');
  // That it is not there and that it is not the caller's are never told apart.
  if (!memory || !mayChange(me, memory)) return refuse('L9OWN');
  if (change.expiry === 'past') return refuse('L9VAL');

  const scope = change.scope ?? memory.scope;
  // A memory that moves to a scope without projects leaves its project behind.
  const leavesProject = change.scope !== undefined && way === 'function' && !scopesOf(world, me).get(scope);
  const project = change.project ?? (leavesProject ? null : memory.project);
  const next: Memory = {
    ...memory,
    scope,
    project,
    // With the project the function leaves its branch behind, unless one is named.
    branch:
      change.branch === undefined ? (way === 'function' && project === null ? null : memory.branch) : change.branch,
    kind: change.kind ?? memory.kind,
    content: change.content ?? memory.content,
    parents: change.parents ? [...new Set(change.parents)].sort() : memory.parents,
    // It says who changed it last. Its creator, tenant, org and user stay.
    updatedBy: me.caller,
    versions: [...memory.versions, stateOf(memory)],
  };
  const wrong = [...faultsOf(world, me, next, memory), ...mayFollow(world, me, next, memory, change.expiry)];
  if (wrong.length > 0) return refuse(...wrong);

  const twin = twinOf(world, next);
  if (twin && !twin.isExpired) return refuse('L9VAL');
  return {
    refused: null,
    commit() {
      if (twin) forget(world, twin.id);
      world.memories.set(next.id, next);
      follow(world, next, memory, change.expiry);
    },
  };
}

export function remove(world: World, me: Identity | null, memory: Memory | undefined): Expected<{ commit(): void }> {
  if (!me) return toNobody;
  if (me.role === 'l9_platform_admin') return refuse('L9SCP');
  if (!memory || !mayChange(me, memory)) return refuse('L9OWN');
  return { refused: null, commit: () => forget(world, memory.id) };
}

export function cleanUp(world: World, me: Identity | null): Expected<{ deleted: number; commit(): void }> {
  if (!me) return refuse('L9AUT', 'L9SCP');
  if (me.role === 'l9_platform_admin' || !me.cleansUp) return refuse('L9SCP');
  const expired = [...world.memories.values()].filter((memory) => mayCleanUp(me, memory));
  return {
    refused: null,
    deleted: expired.length,
    commit: () => expired.forEach(({ id }) => void forget(world, id)),
  };
}

export function get(me: Identity | null, memory: Memory | undefined): Expected<{ memory: Memory }> {
  if (!me) return toNobody;
  return memory && maySee(me, memory) ? { refused: null, memory } : refuse('L9OWN');
}

/** All that it is and was, as far as the caller may see it, the newest first. */
export function history(me: Identity | null, memory: Memory | undefined): Expected<{ states: State[] }> {
  if (!me) return toNobody;
  if (!memory || !maySee(me, memory)) return refuse('L9OWN');
  return { refused: null, states: [memory, ...seenVersions(me, memory).reverse()] };
}

export const seenVersions = (me: Identity | null, memory: Memory): State[] =>
  memory.versions.filter((version) => maySeeState(me, memory, version));

/** Admins may ask whether another sees a memory that they see, or saw before it expired. */
export function explain(
  world: World,
  me: Identity | null,
  memory: Memory | undefined,
  claims: Claims,
): Expected<{ isVisible: boolean }> {
  if (!me) return toNobody;
  if (me.role === 'l9_agent') return refuse('L9SCP');
  if (!memory || !maySee(me, { ...memory, isExpired: false })) return refuse('L9OWN');
  const actor = world.actors.find(({ tenant, caller }) => tenant === claims.tenant && caller === claims.caller);
  if (!actor || (me.role === 'l9_admin' && actor.tenant !== me.tenant)) return refuse('L9VAL');
  return { refused: null, isVisible: maySee(identityOf(world, { ...claims, role: actor.role }), memory) };
}

/** The project of what a caller with one project saves without naming it, in a scope that has projects. */
const onlyProject = (world: World, me: Identity, scope: string): string | null => {
  const [first, ...others] = me.projects;
  return first !== undefined && first !== '*' && others.length === 0 && scopesOf(world, me).get(scope) ? first : null;
};

// What is wrong with a memory as its writer would have it?

const LATEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

function faultsOf(world: World, me: Identity, next: Memory, was?: Memory): Code[] {
  const faults = new Set<Code>();
  if (isBlank(next.content)) faults.add('L9VAL');
  // A scope that does not exist and one that is not the caller's are never told apart.
  if (!me.writes.includes(next.scope)) faults.add('L9SCP');
  else if (scopesOf(world, me).get(next.scope) !== (next.project !== null)) faults.add('L9VAL');
  else if (next.project !== null && !has(me.projects, next.project)) faults.add('L9SCP');

  // A branch is one of a project.
  if (next.branch !== null && next.project === null) faults.add('L9VAL');

  // Parents are judged when they are new, and all of them when the memory moves to other readers.
  const moves = next.scope !== was?.scope || next.project !== was.project;
  const judged = moves ? next.parents : next.parents.filter((id) => !was.parents.includes(id));
  if (!judged.every((id) => mayRestOn(world, me, next, world.memories.get(id)))) faults.add('L9VAL');
  return [...faults];
}

const isBlank = (content: string) => content.trim() === '';

/** A parent is seen by the writer and by all who may read the child, and is older than it, so that there is no cycle. */
export const mayRestOn = (world: World, me: Identity, child: Memory, parent: Memory | undefined): boolean =>
  parent !== undefined &&
  maySee(me, parent) &&
  parent.id < child.id &&
  (parent.org === null || parent.org === child.org) &&
  (parent.user === null || parent.user === child.user) &&
  (parent.project === null || parent.project === child.project) &&
  world.actors
    .filter((actor) => actor.tenant === child.tenant && has(actor.reads, child.scope))
    .every((actor) => has(actor.reads, parent.scope));

/** The memory that says the same: case and white space aside, for the same owner, scope, project, branch and kind. */
const twinOf = (world: World, memory: Memory): Memory | undefined =>
  [...world.memories.values()].find((other) => other.id !== memory.id && placeOf(other) === placeOf(memory));

const placeOf = ({ tenant, org, user, scope, project, branch, kind, content }: Memory) =>
  JSON.stringify([tenant, org, user, scope, project, branch, kind, content.trim().replace(/\s+/g, ' ').toLowerCase()]);

const scopesOf = (world: World, me: Identity) => world.tenants.find(({ id }) => id === me.tenant)!.scopes;

export const stateOf = ({ scope, project, branch, kind, content, creator, updatedBy }: State): State => ({
  scope,
  project,
  branch,
  kind,
  content,
  creator,
  updatedBy,
});

/** Gone, and with it what was derived from it, and the idempotency keys that answered with it. */
export function forget(world: World, id: string): void {
  world.memories.delete(id);
  for (const [key, answer] of world.answers) if (answer.id === id) world.answers.delete(key);
  forgetDerived(world, id);
}
