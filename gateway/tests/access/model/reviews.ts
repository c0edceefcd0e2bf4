// Which saves wait for a review, and what comes of a decision about one of them.
import { twinOf } from './changes.ts';
import { type Code, type Identity, sourceOf } from './identity.ts';
import { breaksLock, contentOf, stated } from './kinds.ts';
import { addRow, goesWith } from './knowledge.ts';
import {
  type Expected,
  forget,
  isForTheSame,
  isWithheld,
  type Memory,
  mayChange,
  maySee,
  refuse,
  refuseChange,
  stateOf,
  textCreatorAfter,
  type World,
} from './memories.ts';

/** A condition that is null is met by all. */
export interface Rule {
  tenant: string;
  caller: string | null;
  scope: string | null;
  project: string | null;
  kinds: string[] | null;
  source: string | null;
  needsReview: boolean;
}

export const conditionsOf = ({ tenant, caller, scope, project, kinds, source }: Rule) =>
  JSON.stringify([tenant, caller, scope, project, kinds, source]);

/** Most conditions first; then a caller before a scope, a project, kinds and a source. */
const rank = ({ caller, scope, project, kinds, source }: Rule) => {
  const stated = [source, kinds, project, scope, caller].map((one) => Number(one !== null));
  return stated.reduce((sum, one, place) => sum + one * (32 + 2 ** place), 0);
};

/** Rules are in the order in which they were changed: of two with the same kinds of conditions the last decides. */
export const needsReview = (
  world: World,
  me: Identity,
  { kind, scope, project }: Pick<Memory, 'kind' | 'scope' | 'project'>,
): boolean =>
  world.rules
    .filter(
      (rule) =>
        rule.tenant === me.tenant &&
        (rule.caller ?? me.caller) === me.caller &&
        (rule.scope ?? scope) === scope &&
        (rule.project === null || rule.project === project) &&
        (rule.kinds?.includes(kind) ?? true) &&
        (rule.source ?? sourceOf(me.caller)) === sourceOf(me.caller),
    )
    .reverse()
    .sort((a, b) => rank(b) - rank(a))[0]?.needsReview ?? false;

/** Of the same text and creator, where the caller sees it: then nobody is asked again. */
export const rejectedBefore = (world: World, me: Identity, draft: Memory): Memory | undefined =>
  [...world.memories.values()].find(
    (other) =>
      other.review === 'rejected' &&
      maySee(me, other) &&
      other.id !== draft.id &&
      other.creator === draft.creator &&
      other.tenant === draft.tenant &&
      other.org === draft.org &&
      other.user === draft.user &&
      sameWords(other) === sameWords(draft),
  );

const sameWords = ({ content }: Memory) => content.trim().replaceAll(/\s+/g, ' ').toLowerCase();

export type Decision = 'approved' | 'rejected' | 'undone';

/** What was made of the memory that an approval takes back, and could not be made again. */
const cannotBeWithdrawn = (world: World, { id }: Memory): boolean =>
  world.archives.has(id) ||
  world.knowledge.rows.some(
    ({ table, packet }) =>
      packet === id &&
      (table === 'task_reflections' ||
        table === 'memory_summaries' ||
        (table === 'reflection_store' && world.onApproval.get(id)?.[0]?.table !== 'reflection_store')),
  );

/** Takes back what was derived from a memory that no longer counts. */
export function withdraw(world: World, id: string): void {
  world.knowledge.rows = world.knowledge.rows.filter(({ packet }) => packet !== id);
  forgetSummariesOf(world, id);
}

function forgetSummariesOf(world: World, id: string): void {
  for (const [summary, sources] of [...world.knowledge.summaries]) if (sources.includes(id)) forget(world, summary);
}

export function decide(
  world: World,
  me: Identity | null,
  memory: Memory | undefined,
  decision: Decision,
): Expected<{ into: Memory | undefined; isBack: boolean; commit(): void }> {
  if (me?.role !== 'l9_admin') return refuse('L9AUT', 'L9SCP');
  if (!memory || !mayChange(me, memory)) return refuse('L9OWN');
  const nothing = { refused: null, into: undefined, isBack: false, commit() {} };
  if (memory.review === null) return refuse('L9VAL');
  if (decision === 'undone' && memory.review === 'pending') return refuse('L9VAL');
  if (memory.review === decision) return nothing;
  const merge = world.merges.get(memory.id);
  const isBack = merge !== undefined && memory.review === 'rejected' && decision !== 'rejected';
  const review = decision === 'undone' ? (isBack ? 'approved' : 'pending') : decision;
  const next: Memory = { ...memory, review, versions: [...memory.versions, stateOf(memory)] };
  const twin = twinOf(world, next);
  const live = twin && !twin.isExpired ? twin : undefined;
  // Its fields go over to the memory that counts, where they are not locked.
  if (review === 'approved' && live?.fields && breaksLock(live, stated({ ...live.fields, ...memory.fields })))
    return refuse('L9IMM', ...(isBack ? (['L9VAL'] as const) : []));
  if (review === 'approved' && live) {
    if (isBack) return refuse('L9VAL');
    const joined: Memory = { ...live, fields: live.fields && { ...live.fields, ...memory.fields } };
    const replaces = joined.fields?.supersedes !== live.fields?.supersedes;
    if (replaces && !supersededBy(world, me, joined)) return refusedReplacement(world, me, joined);
    return {
      ...nothing,
      into: live,
      commit() {
        forget(world, memory.id);
        if (replaces) supersede(world, me, joined);
      },
    };
  }
  if (live && isWithheld(next)) return refuse('L9VAL');
  const wrong = review === 'approved' ? faultsOfApproval(world, me, next) : [];
  if (!isWithheld(memory) && cannotBeWithdrawn(world, memory)) wrong.push('L9VAL');
  if (wrong.length > 0) return refuse(...wrong);
  return {
    ...nothing,
    isBack,
    commit() {
      if (twin) forget(world, twin.id);
      // What is rejected expires; what is taken back lives as it did before, and an undo of a rejection is a version more.
      world.memories.set(memory.id, next);
      if (isWithheld(next)) {
        if (!isWithheld(memory)) withdraw(world, memory.id);
        return;
      }
      for (const row of world.onApproval.get(next.id) ?? []) addRow(world, { ...row, packet: next.id });
      supersede(world, me, next);
    },
  };
}

function faultsOfApproval(world: World, me: Identity, next: Memory): Code[] {
  const waits = next.parents.some((id) => {
    const parent = world.memories.get(id);
    return parent && !parent.isExpired && isWithheld(parent);
  });
  const isOdd = next.fields?.supersedes !== undefined && supersededBy(world, me, next) === undefined;
  const isNoLesson =
    next.kind !== 'reflection' && world.onApproval.get(next.id)?.some(({ table }) => table === 'reflection_store');
  return [
    ...(waits || isNoLesson ? (['L9VAL'] as const) : []),
    ...(isOdd ? refusedReplacement(world, me, next).refused : []),
  ];
}

const refusedReplacement = (world: World, me: Identity, { fields }: Memory) =>
  refuseChange(me, world.memories.get(fields!.supersedes!), 'L9VAL');

/** A decision that waits replaces the other one once it is approved. */
function supersededBy(world: World, me: Identity, next: Memory): Memory | undefined {
  const other = world.memories.get(next.fields!.supersedes!);
  const isOther = other && other.id !== next.id && other.kind === next.kind && mayChange(me, other);
  return isOther && !isWithheld(other) && isForTheSame(other, next) ? other : undefined;
}

function supersede(world: World, me: Identity, next: Memory): void {
  const other = next.fields?.supersedes === undefined ? undefined : supersededBy(world, me, next);
  if (!other || other.fields!.status === 'superseded') return;
  const fields = { ...other.fields, status: 'superseded', superseded_by: next.id };
  world.memories.set(other.id, {
    ...other,
    fields,
    content: contentOf(other.kind, fields),
    updatedBy: me.caller,
    textCreator: textCreatorAfter(me, other),
    versions: [...other.versions, stateOf(other)],
  });
}

/** Others that say the same become one: they are kept as rejected, and what was made of them goes over. */
export function merge(
  world: World,
  me: Identity | null,
  keep: Memory | undefined,
  other: Memory | undefined,
): Expected<{ commit(): void }> {
  if (me?.role !== 'l9_admin') return refuse('L9AUT', 'L9SCP');
  const codes: Code[] = [];
  if (!keep || !mayChange(me, keep) || !other || !mayChange(me, other)) codes.push('L9OWN');
  if (keep && other) {
    if (keep.id === other.id || keep.review === 'rejected' || other.review === 'rejected') codes.push('L9VAL');
    if (goesWith(world, other.id).has(keep.id)) codes.push('L9VAL');
    if (!isForTheSame(keep, other) || (isWithheld(keep) && !isWithheld(other))) codes.push('L9VAL');
    if (!isWithheld(other) && cannotBeWithdrawn(world, other)) codes.push('L9VAL');
    const next: Memory = { ...other, review: 'rejected' };
    const twin = twinOf(world, next);
    if (twin && !twin.isExpired) codes.push('L9VAL');
  }
  if (codes.length > 0) return refuse(...codes);
  return {
    refused: null,
    commit() {
      if (!isWithheld(other!)) {
        world.merges.set(other!.id, keep!.id);
        // What else was made of it goes over to the one that is kept.
        forgetSummariesOf(world, other!.id);
      }
      world.memories.set(other!.id, { ...other!, review: 'rejected', versions: [...other!.versions, stateOf(other!)] });
    },
  };
}
