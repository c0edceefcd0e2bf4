// The memories of the model, what a caller may do with those that are there, and what it reads of them.
import { type Actor, type Claims, type Code, has, type Identity, identityOf, type Tenant } from './identity.ts';
import type { Fields } from './kinds.ts';
import { forgetDerived, type Knowledge, type Says } from './knowledge.ts';
import type { Rule } from './reviews.ts';

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
  /** Null: it needs no review. */
  review: 'pending' | 'approved' | 'rejected' | null;
}

export interface Memory extends State {
  id: string;
  tenant: string;
  org: string | null;
  user: string | null;
  /** Of a kind with fields; null: the kind is free. */
  fields: Fields | null;
  /** The administrator whose text it is by now; null: its creator's. */
  textCreator: string | null;
  parents: string[];
  isExpired: boolean;
  /** What it said before, the oldest first. */
  versions: State[];
}

export interface World {
  tenants: Tenant[];
  actors: Actor[];
  memories: Map<string, Memory>;
  /** The archived session of a memory of kind session, and where its bytes are. Ids of deleted memories stay. */
  archives: Map<string, { pointer: string; document: string }>;
  /** The first request with each idempotency key of a caller, its org and its user, and the answer to it. */
  answers: Map<string, { status: SaveStatus; id: string; request: string }>;
  /** What was made of memories. */
  knowledge: Knowledge;
  /** Which saves wait for a review. */
  rules: Rule[];
  /** The tenants that hold a text that was rejected before, instead of refusing it. */
  holding: Set<string>;
  /** What a memory that waits is to state once it is approved. */
  onApproval: Map<string, Says[]>;
  /** The memory that another one that counted was merged into. */
  merges: Map<string, string>;
}

export type SaveStatus = 'inserted' | 'updated' | 'skipped_dedupe';

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

/** Pending and rejected: it is there for its creator and for reviewers only. */
export const isWithheld = ({ review }: Pick<State, 'review'>): boolean => review === 'pending' || review === 'rejected';

/** Scope decides, never the author of what counts. What has expired is gone for everyone. Operators read across tenants. */
export const maySee = (me: Identity | null, memory: Memory): boolean =>
  me !== null &&
  !memory.isExpired &&
  (!isWithheld(memory) || me.role !== 'l9_agent' || memory.creator === me.creator) &&
  (me.role === 'l9_platform_admin' || (isWithinReach(me, memory) && me.reads.includes(memory.scope)));

/** What it sees and may write: agents only what they wrote themselves and no admin has written since, admins anyone's, operators nothing. */
export const mayChange = (me: Identity | null, memory: Memory): boolean =>
  me !== null &&
  me.role !== 'l9_platform_admin' &&
  maySee(me, memory) &&
  me.writes.includes(memory.scope) &&
  (me.role === 'l9_admin' || (memory.creator === me.creator && memory.textCreator === null));

/** The refusal of a change of what is not the caller's to change; SQL tables answer with no row, which is L9OWN. */
export const refuseChange = (me: Identity, memory: Memory | undefined, ...others: Code[]) =>
  memory?.review === 'rejected' && memory.creator === me.creator && maySee(me, memory)
    ? refuse('L9OWN', 'L9IMM', ...others)
    : refuse('L9OWN', ...others);

/** An admin who saves an agent's text again, or makes something of it, stands by it. One who saves it for good makes it last. */
export function claim(world: World, me: Identity | null, { id }: Memory, isForGood = false): void {
  const memory = world.memories.get(id);
  if (me?.role !== 'l9_admin' || !memory || memory.creator === me.creator) return;
  const isAgents = !world.actors.some(
    ({ tenant, creator, role }) => tenant === memory.tenant && creator === memory.creator && role === 'l9_admin',
  );
  if (!isAgents) return;
  const textCreator = memory.textCreator ?? me.creator;
  const lasts = isForGood && world.knowledge.expireLater.delete(id);
  const changed = { ...memory, textCreator, updatedBy: me.caller, versions: [...memory.versions, stateOf(memory)] };
  world.memories.set(id, lasts ? changed : { ...memory, textCreator });
}

/** Whose text a memory is once this caller has changed it. */
export const textCreatorAfter = (me: Identity, memory: Memory): string | null =>
  memory.creator === me.creator ? null : me.creator;

/** Expired memories that the caller could have seen and may write, of any author. */
export const mayCleanUp = (me: Identity, memory: Memory): boolean =>
  memory.isExpired && me.cleansUp && isWithinReach(me, memory) && me.writes.includes(memory.scope);

/** A state is for those who may see the memory as it is now, and could have seen it as it was. */
const maySeeState = (me: Identity | null, memory: Memory, state: State): boolean =>
  me !== null && maySee(me, memory) && maySee(me, { ...memory, ...state });

export const visible = (world: World, me: Identity | null): Memory[] =>
  [...world.memories.values()].filter((memory) => maySee(me, memory));

/** What searches and counts are about. */
export const counting = (world: World, me: Identity | null): Memory[] =>
  visible(world, me).filter((memory) => !isWithheld(memory));

// What comes of an operation? Either the error, one of those that its input deserves (which of them is named first is no
// rule), or what it does. `commit` makes it so in the model.

export type Expected<Done> = { refused: Code[] } | ({ refused: null } & Done);

export const refuse = (...refused: Code[]) => ({ refused });

/** Nobody is told the same of everything: who it is not, or nothing. */
export const toNobody = refuse('L9AUT', 'L9OWN', 'L9SCP');

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
export const scopesOf = (world: World, me: Identity) => world.tenants.find(({ id }) => id === me.tenant)!.scopes;

export const stateOf = ({ scope, project, branch, kind, content, creator, updatedBy, review }: State): State => ({
  scope,
  project,
  branch,
  kind,
  content,
  creator,
  updatedBy,
  review,
});

/** Gone, and with it what was derived from it, and the idempotency keys that answered with it. */
export function forget(world: World, id: string): void {
  world.memories.delete(id);
  world.onApproval.delete(id);
  for (const [other, kept] of world.merges) if (other === id || kept === id) world.merges.delete(other);
  for (const [key, answer] of world.answers) if (answer.id === id) world.answers.delete(key);
  forgetDerived(world, id);
}
