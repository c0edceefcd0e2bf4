// The queue as it is shown. It moves only when somebody decides or asks for it: what came meanwhile is counted, not pushed in.
import { useEffect, useState } from 'preact/hooks';
import { useAddress } from '../../lib/address.ts';
import { type Loaded, useData } from '../../lib/data.ts';
import type { ResultOf } from '../../lib/graphql.ts';
import { type Item, PAGE_SIZE, queueQuery } from './query.ts';

const POLL_MS = 15_000;

export interface Queue {
  answer: Loaded<ResultOf<typeof queueQuery>>;
  items: readonly Item[];
  /** How many of the first page are not shown yet. */
  newer: number;
  current: Item | null;
  /** Shows what is there now. */
  show(): void;
  select(item: Item | undefined): void;
  /** The item by so many places further down, or up. */
  move(by: number): void;
  /** Takes an item out, and goes on to the next one. */
  drop(id: string): void;
}

export function useQueue(): Queue {
  const address = useAddress();
  const [scope, creator, cursor] = [address.get('scope'), address.get('creator'), address.get('cursor')];
  const answer = useData(
    queueQuery,
    { k: PAGE_SIZE, cursor: cursor || null, scope: scope || null, creator: creator || null, projectId: '*' },
    { pollMs: POLL_MS },
  );
  const [shown, setShown] = useState<{ of: string; items: readonly Item[] } | null>(null);
  const [dropped, setDropped] = useState<ReadonlySet<string>>(new Set());
  const page = `${scope} ${creator} ${cursor}`;
  const read = answer.data?.reviewQueue?.items;
  useEffect(() => {
    if (!read || answer.isRefreshing) return;
    // An empty list fills itself: nothing in it could jump.
    if (shown?.of !== page || shown.items.every(({ packetId }) => dropped.has(packetId)))
      setShown({ of: page, items: read });
  }, [read, answer.isRefreshing, page, dropped]);

  const items = (shown?.items ?? []).filter(({ packetId }) => !dropped.has(packetId));
  const known = new Set(shown?.items.map(({ packetId }) => packetId));
  const newer =
    shown?.of === page ? (read ?? []).filter(({ packetId }) => !known.has(packetId) && !dropped.has(packetId)) : [];
  const current = items.find(({ packetId }) => packetId === address.get('item')) ?? items[0] ?? null;
  const select = (item: Item | undefined) => address.set({ item: item?.packetId ?? null }, { replace: true });
  const neighbour = (by: number) => items[Math.min(Math.max(items.indexOf(current!) + by, 0), items.length - 1)];
  return {
    answer,
    items,
    newer: newer.length,
    current,
    show() {
      setDropped(new Set());
      setShown(null);
      answer.refresh();
    },
    select,
    move: (by) => select(neighbour(by)),
    drop(id) {
      const index = items.findIndex(({ packetId }) => packetId === id);
      if (current?.packetId === id) select(items[index + 1] ?? items[index - 1]);
      setDropped(new Set([...dropped, id]));
    },
  };
}
