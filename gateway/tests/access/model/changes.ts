// What comes of a save, an update, a deletion and a cleanup.
import { archivedTwinOf } from './archives.ts';
import { type Code, has, type Identity } from './identity.ts';
import { breaksLock, contentOf, type Fields, identityIn, isLocked, sameFields, stated, withEnd } from './kinds.ts';
import { follow, mayFollow } from './knowledge.ts';
import {
  claim,
  type Expected,
  forget,
  isWithheld,
  type Memory,
  mayChange,
  mayCleanUp,
  maySee,
  refuse,
  refuseChange,
  type SaveStatus,
  scopesOf,
  stateOf,
  textCreatorAfter,
  toNobody,
  type World,
} from './memories.ts';
import { needsReview, rejectedBefore } from './reviews.ts';

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

  const { known, isOther, remember } = retryOf(world, me, wanted.idempotencyKey, JSON.stringify(wanted));
  if (isOther) return refuse('L9VAL');
  if (known) return { refused: null, ...known, isRetry: true, commit() {} };

  const draft = draftOf(world, me, wanted, way);
  // What counts already needs no review; else the same text of the same creator waits, or was rejected.
  const counting = liveTwinOf(world, draft);
  const waits = needsReview(world, me, draft);
  if (waits) draft.review = 'pending';
  const same = waits && way === 'function' ? (counting ?? liveTwinOf(world, draft)) : undefined;
  const wrong = same ? faultsOfPlace(world, me, draft) : faultsOf(world, me, draft);
  if (wrong.length > 0) return refuse(...wrong);
  if (waits && !hold(world, me, draft, same)) return refuse('L9VAL');
  const twin = same ?? twinOf(world, draft);
  if (twin && !twin.isExpired) {
    if (way === 'table') return refuse('L9VAL');
    return {
      refused: null,
      status: 'skipped_dedupe',
      memory: twin,
      isRetry: false,
      commit() {
        claim(world, me, twin, wanted.expiry === 'never');
        remember('skipped_dedupe', twin.id);
      },
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

/**
 * Holds the draft as rejected, too, where its text was rejected before and the tenant holds such texts. False: the save is
 * refused.
 */
export function hold(world: World, me: Identity, draft: Memory, same: Memory | undefined): boolean {
  const before = same ? same.review === 'rejected' && same : rejectedBefore(world, me, draft);
  if (!before) return true;
  if (!same) draft.review = 'rejected';
  return world.holding.has(draft.tenant);
}

/** A retry gets the first answer again, as long as its memory is there for the caller. Another request is refused. */
export function retryOf(world: World, me: Identity, idempotencyKey: string | null, request: string) {
  const key = idempotencyKey === null ? null : JSON.stringify([me.tenant, me.caller, me.org, me.user, idempotencyKey]);
  const first = key === null ? undefined : world.answers.get(key);
  const memory = first && world.memories.get(first.id);
  return {
    known: memory && maySee(me, memory) ? { status: first.status, memory } : undefined,
    isOther: memory !== undefined && maySee(me, memory) && first!.request !== request,
    remember(status: SaveStatus, id: string) {
      if (key !== null) world.answers.set(key, { status, id, request });
    },
  };
}

type Said = Pick<Wanted, 'scope' | 'project' | 'branch' | 'kind' | 'content' | 'parents'> & { fields?: Fields };

/** A memory as the caller would have it, before it has an id. */
export const draftOf = (world: World, me: Identity, said: Said, way: Way): Memory => ({
  id: LATEST,
  tenant: me.tenant,
  org: me.org,
  user: me.user,
  scope: said.scope,
  project: said.project ?? (way === 'function' ? projectOf(world, me, said.scope) : null),
  branch: said.branch,
  kind: said.kind,
  fields: said.fields ?? null,
  content: said.content,
  creator: me.creator,
  updatedBy: null,
  review: null,
  textCreator: null,
  parents: [...new Set(said.parents)].sort(),
  isExpired: false,
  versions: [],
});

export type Change = Partial<
  Pick<Wanted, 'content' | 'scope' | 'project' | 'branch' | 'kind' | 'parents' | 'expiry'>
> & {
  /** Of a memory with fields, instead of a content; one that is null goes. */
  fields?: Record<string, string | null>;
};

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
  if (!memory || !mayChange(me, memory)) return refuseChange(me, memory);
  if (change.expiry === 'past') return refuse('L9VAL');

  const scope = change.scope ?? memory.scope;
  // A memory that moves to a scope without projects leaves its project behind.
  const leavesProject = change.scope !== undefined && way === 'function' && !scopesOf(world, me).get(scope);
  const project = change.project ?? (leavesProject ? null : memory.project);
  // Another kind is a free one here, and then its fields are no longer looked at.
  const fields = change.kind === undefined && memory.fields ? stated({ ...memory.fields, ...change.fields }) : null;
  const next: Memory = {
    ...memory,
    scope,
    project,
    // With the project the function leaves its branch behind, unless one is named.
    branch:
      change.branch === undefined ? (way === 'function' && project === null ? null : memory.branch) : change.branch,
    kind: change.kind ?? memory.kind,
    fields: fields && withEnd(memory.kind, fields, memory.fields),
    content: change.content ?? (fields ? contentOf(memory.kind, fields) : memory.content),
    parents: change.parents ? [...new Set(change.parents)].sort() : memory.parents,
    // It says who changed it last. Its creator, tenant, org and user stay.
    updatedBy: me.caller,
    versions: [...memory.versions, stateOf(memory)],
  };
  if (next.content !== memory.content || (fields && !sameFields(next.fields, memory.fields)))
    next.textCreator = textCreatorAfter(me, memory);
  const wrong = [...faultsOf(world, me, next, memory), ...mayFollow(world, me, next, memory, change.expiry)];
  // The text of a kind with fields is made from them. SQL that writes another envelope leaves them out.
  if (next.fields && (way === 'table' ? change.content !== undefined : next.content !== memory.content))
    wrong.push('L9VAL');
  if (fields ? breaksLock(memory, fields) : isLocked(memory)) wrong.push('L9IMM');
  if (me.role === 'l9_agent' && (memory.review === 'rejected' || isAroundARule(world, me, next, memory)))
    wrong.push('L9IMM');
  if (wrong.length > 0) return refuse(...wrong);

  const twins = [twinOf(world, next), archivedTwinOf(world, next)].filter((twin) => twin !== undefined);
  if (twins.some(({ isExpired }) => !isExpired)) return refuse('L9VAL');
  return {
    refused: null,
    commit() {
      for (const { id } of twins) forget(world, id);
      world.memories.set(next.id, next);
      follow(world, next, memory, change.expiry);
    },
  };
}

export function remove(world: World, me: Identity | null, memory: Memory | undefined): Expected<{ commit(): void }> {
  if (!me) return toNobody;
  if (me.role === 'l9_platform_admin') return refuse('L9SCP');
  if (!memory || !mayDelete(me, memory)) return refuseChange(me, memory);
  return { refused: null, commit: () => forget(world, memory.id) };
}

/** Else its creator could save the text again, and ask a second time. */
export const mayDelete = (me: Identity | null, memory: Memory): boolean =>
  mayChange(me, memory) && (me!.role === 'l9_admin' || memory.review !== 'rejected');

/** Of a memory that counts, whoever's saves there need a review changes neither what it says nor where. */
const isAroundARule = (world: World, me: Identity, next: Memory, was: Memory): boolean =>
  !isWithheld(was) &&
  needsReview(world, me, next) &&
  (JSON.stringify([placeOf(next), next.content, next.parents]) !==
    JSON.stringify([placeOf(was), was.content, was.parents]) ||
    JSON.stringify(next.fields) !== JSON.stringify(was.fields));

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

/** The only project of the caller or, if it may write in it, the project default. */
const projectOf = (world: World, me: Identity, scope: string): string | null => {
  if (!scopesOf(world, me).get(scope)) return null;
  const [first, ...others] = me.projects;
  if (first !== undefined && first !== '*' && others.length === 0) return first;
  return has(me.projects, 'default') ? 'default' : null;
};

// What is wrong with a memory as its writer would have it?

export const LATEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export function faultsOf(world: World, me: Identity, next: Memory, was?: Memory): Code[] {
  const faults = new Set<Code>(faultsOfPlace(world, me, next));
  if (isBlank(next.content)) faults.add('L9VAL');
  // A branch is one of a project.
  if (next.branch !== null && next.project === null) faults.add('L9VAL');

  // Parents are judged when they are new, and all of them when the memory moves to other readers.
  const moves = next.scope !== was?.scope || next.project !== was.project;
  const judged = moves ? next.parents : next.parents.filter((id) => !was.parents.includes(id));
  if (!judged.every((id) => mayRestOn(world, me, next, world.memories.get(id)))) faults.add('L9VAL');
  return [...faults];
}

export function faultsOfPlace(world: World, me: Identity, { scope, project }: Memory): Code[] {
  // A scope that does not exist and one that is not the caller's are never told apart.
  if (!me.writes.includes(scope)) return ['L9SCP'];
  if (scopesOf(world, me).get(scope) !== (project !== null)) return ['L9VAL'];
  return project !== null && !has(me.projects, project) ? ['L9SCP'] : [];
}

const isBlank = (content: string) => content.trim() === '';

/** A parent is seen by the writer and by all who may read the child, and is older than it, so that there is no cycle. */
export const mayRestOn = (world: World, me: Identity, child: Memory, parent: Memory | undefined): boolean =>
  parent !== undefined &&
  maySee(me, parent) &&
  (!isWithheld(parent) || isWithheld(child)) &&
  parent.id < child.id &&
  (parent.org === null || parent.org === child.org) &&
  (parent.user === null || parent.user === child.user) &&
  (parent.project === null || parent.project === child.project) &&
  world.actors
    .filter((actor) => actor.tenant === child.tenant && has(actor.reads, child.scope))
    .every((actor) => has(actor.reads, parent.scope));

/** The memory that is the same: for the same owner, scope, project, branch and kind. */
export const twinOf = (world: World, memory: Memory): Memory | undefined =>
  [...world.memories.values()].find((other) => other.id !== memory.id && placeOf(other) === placeOf(memory));

export const liveTwinOf = (world: World, memory: Memory): Memory | undefined => {
  const twin = twinOf(world, memory);
  return twin?.isExpired ? undefined : twin;
};

const placeOf = (memory: Memory) =>
  JSON.stringify([
    ownerOf(memory),
    memory.branch,
    memory.kind,
    identityIn(memory),
    isWithheld(memory) ? memory.creator : null,
  ]);

/** Owner, scope and project. */
export const ownerOf = ({ tenant, org, user, scope, project }: Memory) =>
  JSON.stringify([tenant, org, user, scope, project]);
