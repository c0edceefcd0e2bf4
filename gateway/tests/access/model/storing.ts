// What comes of an item of memory_store, and of a row with fields that SQL inserts.
import {
  draftOf,
  faultsOf,
  faultsOfPlace,
  hold,
  liveTwinOf,
  ownerOf,
  retryOf,
  save,
  twinOf,
  type Way,
} from './changes.ts';
import type { Code, Identity } from './identity.ts';
import {
  beforeItsEnd,
  breaksLock,
  contentOf,
  faultsOfFields,
  hasEnded,
  kindsWithFields,
  sameFields,
  stated,
  withEnd,
} from './kinds.ts';
import {
  claim,
  type Expected,
  forget,
  isWithheld,
  type Memory,
  mayChange,
  maySee,
  refuse,
  refuseChange,
  type SaveStatus,
  stateOf,
  textCreatorAfter,
  type World,
} from './memories.ts';
import { needsReview } from './reviews.ts';

export interface Item {
  kind: string;
  /** Of a free kind the text, as content. */
  data: Record<string, string | null>;
  scope: string;
  project: string | null;
  branch: string | null;
  citations: string[];
  idempotencyKey: string | null;
}

export type Stored = Expected<{
  status: SaveStatus;
  /** The memory that is there already. */
  memory?: Memory;
  isRetry: boolean;
  commit(id: string): void;
}>;

export const faultsOfItem = ({ kind, data }: Item): Code[] =>
  kindsWithFields.includes(kind) ? faultsOfFields(kind, stated(data)) : data.content!.trim() ? [] : ['L9VAL'];

/** `answered`: the memory of the answer, which decides where several would do. */
export function store(world: World, me: Identity, item: Item, way: Way, answered: string | undefined): Stored {
  const { kind, data, citations } = item;
  if (!kindsWithFields.includes(kind)) {
    const wanted = { ...item, content: data.content!, parents: citations, expiry: 'never' as const };
    const saved = save(world, me, wanted, way);
    return saved.refused ? saved : { isRetry: false, ...saved };
  }
  const fields = stated(data);
  const faults = faultsOfItem(item);
  const content = faults.length > 0 ? 'not valid' : contentOf(kind, fields);
  const draft = draftOf(world, me, { ...item, content, fields, parents: citations }, way);
  const { known, isOther, remember } = retryOf(world, me, item.idempotencyKey, JSON.stringify(item));
  if (isOther) return refuse('L9VAL', ...faults, ...faultsOfPlace(world, me, draft));
  if (known) return { refused: null, ...known, isRetry: true, commit() {} };

  if (needsReview(world, me, draft)) draft.review = 'pending';
  if (way === 'function' && faultsOfPlace(world, me, draft).length === 0) {
    const there = sameAs(world, me, draft, data).map((same) =>
      hold(world, me, draft, same) ? storeAgain(world, me, same, draft, data, remember) : refuse('L9VAL', ...faults),
    );
    const [first] = there;
    if (first) return there.find((one) => !one.refused && one.memory?.id === answered) ?? first;
  }
  if (isWithheld(draft) && faults.length === 0 && !hold(world, me, draft, undefined))
    return refuse('L9VAL', ...faultsOf(world, me, draft));

  // What waits replaces nothing yet.
  const replaced = isWithheld(draft) ? undefined : replacedBy(world, me, draft);
  const wrong = [
    ...faults,
    ...faultsOf(world, me, draft),
    ...(replaced === 'none' ? refusedReplacement(world, me, draft) : []),
  ];
  if (wrong.length > 0 || replaced === 'none') return refuse(...wrong);
  const twin = twinOf(world, draft);
  // What is replaced now stands in nobody's way, like what has expired.
  if (twin && !twin.isExpired && twin !== replaced) return refuse('L9VAL');
  return {
    refused: null,
    status: 'inserted',
    isRetry: false,
    commit(id) {
      if (twin?.isExpired) forget(world, twin.id);
      world.memories.set(id, { ...draft, id, fields: withEnd(kind, fields) });
      replace(world, me, replaced, id);
      remember('inserted', id);
    },
  };
}

/**
 * What is changed where an item is stored again: the memory with its identity, also where that ends now; or one that has ended
 * and says so already. What the item replaces is another one, whatever its name.
 */
function sameAs(world: World, me: Identity, draft: Memory, data: Item['data']): Memory[] {
  const counting = sameOf(world, me, { ...draft, review: null });
  if (!isWithheld(draft)) return counting;
  // A change of what counts already waits as a memory of its own.
  return counting.some((one) => isTheSame(one, draft, data)) ? counting : sameOf(world, me, draft);
}

function sameOf(world: World, me: Identity, draft: Memory): Memory[] {
  const twin = liveTwinOf(world, beforeItsEnd(draft));
  if (twin && maySee(me, twin) && twin.id !== draft.fields!.supersedes) return [twin];
  if (!hasEnded(draft)) return [];
  return [...world.memories.values()].filter(
    (other) =>
      maySee(me, other) &&
      isWithheld(other) === isWithheld(draft) &&
      (!isWithheld(other) || other.creator === me.creator) &&
      ownerOf(other) === ownerOf(draft) &&
      other.branch === draft.branch &&
      other.kind === draft.kind &&
      Object.entries(draft.fields!).every(([field, value]) => other.fields![field] === value),
  );
}

const parentsOf = (same: Memory, draft: Memory) => [...new Set([...same.parents, ...draft.parents])].sort();

const isTheSame = (same: Memory, draft: Memory, data: Item['data']): boolean =>
  sameFields(stated({ ...same.fields, ...data }), same.fields) && parentsOf(same, draft).length === same.parents.length;

/** A field that is left out stays, one that is null goes. */
function storeAgain(
  world: World,
  me: Identity,
  same: Memory,
  draft: Memory,
  data: Item['data'],
  remember: (status: SaveStatus, id: string) => void,
): Stored {
  const fields = stated({ ...same.fields, ...data });
  const parents = parentsOf(same, draft);
  const { id, kind } = same;
  if (isTheSame(same, draft, data)) {
    return {
      refused: null,
      status: 'skipped_dedupe',
      memory: same,
      isRetry: false,
      commit() {
        claim(world, me, same);
        remember('skipped_dedupe', id);
      },
    };
  }
  const faults = faultsOfFields(kind, fields);
  if (!mayChange(me, same)) return refuseChange(me, same, ...faults);
  const next: Memory = {
    ...same,
    fields: withEnd(kind, fields, same.fields),
    content: faults.length > 0 ? same.content : contentOf(kind, fields),
    parents,
    updatedBy: me.caller,
    ...(!sameFields(fields, same.fields) && { textCreator: textCreatorAfter(me, same) }),
    versions: [...same.versions, stateOf(same)],
  };
  const replaced =
    isWithheld(same) || fields.supersedes === same.fields!.supersedes ? undefined : replacedBy(world, me, next);
  const wrong: Code[] = [...faults, ...faultsOf(world, me, next, same)];
  if (breaksLock(same, fields) || (me.role === 'l9_agent' && same.review === 'rejected')) wrong.push('L9IMM');
  if (replaced === 'none') wrong.push(...refusedReplacement(world, me, next));
  if (wrong.length > 0 || replaced === 'none') return refuse(...wrong);
  return {
    refused: null,
    status: 'updated',
    memory: same,
    isRetry: false,
    commit() {
      world.memories.set(id, next);
      claim(world, me, next);
      replace(world, me, replaced, id);
      remember('updated', id);
    },
  };
}

/** The decision that one says it replaces: another that the caller may change, with the same readers. */
function replacedBy(world: World, me: Identity, { id, kind, fields, ...place }: Memory): Memory | 'none' | undefined {
  const of = fields?.supersedes;
  if (of === undefined) return undefined;
  const other = world.memories.get(of);
  const isOther = other && other.id !== id && other.kind === kind && !isWithheld(other) && mayChange(me, other);
  return isOther && ownerOf(other) === ownerOf({ id, kind, fields, ...place }) ? other : 'none';
}

const refusedReplacement = (world: World, me: Identity, { fields }: Memory): Code[] =>
  refuseChange(me, world.memories.get(fields!.supersedes!), 'L9VAL').refused;

function replace(world: World, me: Identity, replaced: Memory | undefined, by: string): void {
  if (!replaced || replaced.fields!.status === 'superseded') return;
  world.memories.set(replaced.id, {
    ...replaced,
    fields: { ...replaced.fields, status: 'superseded', superseded_by: by },
    updatedBy: me.caller,
    textCreator: textCreatorAfter(me, replaced),
    versions: [...replaced.versions, stateOf(replaced)],
  });
}
