// The queue as it is shown. It moves only when somebody decides or asks for it: what came meanwhile is counted, not pushed in.
import { useEffect, useState } from 'preact/hooks';
import type { Address } from '../../lib/address.ts';
import { type Loaded, useData } from '../../lib/data.ts';
import type { ResultOf } from '../../lib/graphql.ts';
import { FINDINGS, findingOf, type Item, queueQuery, variablesOf } from './query.ts';

const POLL_MS = 15_000;

export interface Queue {
  answer: Loaded<ResultOf<typeof queueQuery>>;
  items: readonly Item[];
  /** How many came, or were changed by their writers, since the page was read. */
  newer: number;
  current: Item | null;
  /** Shows what is there now. */
  show(): void;
  select(item: Item | undefined): void;
  /** The item by so many places further down, or up. */
  move(by: number): void;
  /** Takes out what was decided, and goes on to the next one. */
  drop(decided: readonly Item[]): void;
  /** Puts back what waits again. */
  restore(ids: readonly string[]): void;
}

/** One version of a memory. */
const versionOf = ({ packetId, updatedAt }: Item) => `${packetId} ${updatedAt}`;
const inOrder = (items: readonly Item[]) => [...items].sort((a, b) => (a.packetId < b.packetId ? -1 : 1));

export function useQueue(address: Address): Queue {
  const variables = variablesOf(address);
  const finding = findingOf(address);
  const answer = useData(queueQuery, variables, { pollMs: POLL_MS });
  const page = JSON.stringify([variables, finding]);
  const [shown, setShown] = useState<{ of: string; items: readonly Item[] } | null>(null);
  /** A memory that waits again has another version. */
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const [returning, setReturning] = useState<readonly string[]>([]);
  const waits = (item: Item) => !decided.has(versionOf(item));
  const read = answer.data?.reviewQueue?.items.filter(
    (item) => waits(item) && (!finding || FINDINGS[finding].has(item)),
  );
  const items = (shown?.items ?? []).filter(waits);

  useEffect(() => {
    if (!read || answer.isRefreshing) return;
    // An empty list fills itself: nothing in it could jump.
    if (shown?.of !== page || (items.length === 0 && read.length > 0)) setShown({ of: page, items: read });
    else if (returning.length > 0) {
      const back = read.filter(({ packetId }) => returning.includes(packetId));
      const others = shown.items.filter(({ packetId }) => !returning.includes(packetId));
      setShown({ of: page, items: inOrder([...others, ...back]) });
    }
    if (returning.length > 0) {
      if (read.some(({ packetId }) => packetId === returning[0]))
        address.set({ item: returning[0] }, { replace: true });
      setReturning([]);
    }
  }, [answer.data, answer.isRefreshing, page, decided, returning]);

  // A link to one memory leads to its page of the queue, whose cursors are ids, in the order of their times.
  const next = answer.data?.reviewQueue?.nextCursor;
  const isFurther = !answer.isRefreshing && Boolean(next) && address.get('item') > next!;
  useEffect(() => {
    if (isFurther) address.set({ cursor: next }, { replace: true });
  }, [isFurther, next]);

  const known = new Set(shown?.items.map(versionOf));
  const newer = shown?.of === page ? (read ?? []).filter((item) => !known.has(versionOf(item))) : [];
  const current = items.find(({ packetId }) => packetId === address.get('item')) ?? items[0] ?? null;
  const select = (item: Item | undefined) => address.set({ item: item?.packetId ?? null }, { replace: true });
  return {
    answer,
    items,
    newer: newer.length,
    current,
    show: () => read && setShown({ of: page, items: read }),
    select,
    move: (by) => select(items[Math.min(Math.max(items.indexOf(current!) + by, 0), items.length - 1)]),
    drop(gone) {
      const after = new Set([...decided, ...gone.map(versionOf)]);
      const isLeft = (item: Item) => !after.has(versionOf(item));
      const index = current ? items.indexOf(current) : 0;
      if (current && !isLeft(current))
        select(items.slice(index).find(isLeft) ?? items.slice(0, index).findLast(isLeft));
      setDecided(after);
    },
    restore(ids) {
      setReturning(ids);
      answer.refresh();
    },
  };
}
