// Which saves wait for a review, and what comes of a decision about one of them.
import { twinOf } from './changes.ts';
import type { Code, Identity } from './identity.ts';
import { type Expected, forget, isWithheld, type Memory, mayChange, refuse, stateOf, type World } from './memories.ts';

/** All rules are about this kind, so that what is derived on the way counts at once. Null: any caller, any scope. */
export const REVIEWED = 'claim';

export interface Rule {
  tenant: string;
  caller: string | null;
  scope: string | null;
  needsReview: boolean;
}

/** Most conditions first; then one that names a caller. Two rules of one tenant never have the same conditions. */
const rank = ({ caller, scope }: Rule) => 10 * [caller, scope].filter(Boolean).length + (caller ? 1 : 0);

export const needsReview = (world: World, me: Identity, { kind, scope }: Pick<Memory, 'kind' | 'scope'>): boolean =>
  kind === REVIEWED &&
  ([...world.rules]
    .filter((rule) => rule.tenant === me.tenant)
    .filter((rule) => (rule.caller ?? me.caller) === me.caller && (rule.scope ?? scope) === scope)
    .sort((a, b) => rank(b) - rank(a))[0]?.needsReview ??
    false);

/** Of the same text and creator, and not expired: then nobody is asked again. */
export const rejectedBefore = (world: World, draft: Memory): Memory | undefined =>
  [...world.memories.values()].find(
    (other) =>
      other.review === 'rejected' &&
      !other.isExpired &&
      other.creator === draft.creator &&
      other.tenant === draft.tenant &&
      other.org === draft.org &&
      other.user === draft.user &&
      sameWords(other) === sameWords(draft),
  );

const sameWords = ({ content }: Memory) => content.trim().replaceAll(/\s+/g, ' ').toLowerCase();

export type Decision = 'approved' | 'rejected';

export function decide(
  world: World,
  me: Identity | null,
  memory: Memory | undefined,
  decision: Decision,
): Expected<{ into: Memory | undefined; commit(): void }> {
  const codes: Code[] = ['L9AUT', 'L9SCP'];
  if (me?.role !== 'l9_admin') return refuse(...codes);
  if (!memory || !mayChange(me, memory)) return refuse('L9OWN');
  const nothing = { refused: null, into: undefined, commit() {} };
  if (memory.review === null) return refuse('L9VAL');
  if (memory.review === decision) return nothing;
  const next: Memory = { ...memory, review: decision, versions: [...memory.versions, stateOf(memory)] };
  const twin = twinOf(world, next);
  if (decision === 'approved' && twin && !twin.isExpired)
    return { refused: null, into: twin, commit: () => forget(world, memory.id) };
  const waiting = memory.parents.some((id) => {
    const parent = world.memories.get(id);
    return parent && !parent.isExpired && isWithheld(parent);
  });
  if (decision === 'approved' && waiting) return refuse('L9VAL');
  return {
    ...nothing,
    commit() {
      if (decision === 'approved' && twin) forget(world, twin.id);
      world.memories.set(memory.id, next);
    },
  };
}
