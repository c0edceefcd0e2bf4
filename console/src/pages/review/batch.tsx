// What is chosen, on this page of the queue and on others, and what can be done with all of it at once.
import { useClient } from '@urql/preact';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { icons } from '../../components/icon.tsx';
import { toast } from '../../components/toast.tsx';
import type { Address } from '../../lib/address.ts';
import { explain } from '../../lib/errors.ts';
import { FINDINGS, findingOf, type Item, LOOKED_THROUGH, MAX_BATCH, queueQuery, variablesOf } from './query.ts';

export interface Choice {
  items: readonly Item[];
  has(item: Item): boolean;
  toggle(items: readonly Item[], isOn: boolean): void;
  clear(): void;
}

/** Oldest first, at most as many as can be decided about at once. */
export function useChoice(): Choice {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Item>>(new Map());
  return {
    items: [...chosen.values()].sort((a, b) => (a.packetId < b.packetId ? -1 : 1)),
    has: ({ packetId }) => chosen.has(packetId),
    toggle(items, isOn) {
      const next = new Map(chosen);
      for (const item of items) {
        if (!isOn) next.delete(item.packetId);
        else if (next.size < MAX_BATCH || next.has(item.packetId)) next.set(item.packetId, item);
        else {
          toast(`At most ${MAX_BATCH} memories are decided about at once.`);
          break;
        }
      }
      setChosen(next);
    },
    clear: () => setChosen(new Map()),
  };
}

/** Where few match, the rest of a long queue is not looked through. */
const MAX_PAGES = 10;

interface BatchProps {
  choice: Choice;
  /** Of the shown page. */
  items: readonly Item[];
  address: Address;
  hasMore: boolean;
  isReadOnly: boolean;
  onDecide: (does: 'Approve' | 'Reject') => void;
}

export function Batch({ choice, items, address, hasMore, isReadOnly, onDecide }: BatchProps) {
  const all = useAll(address, choice);
  if (isReadOnly) return null;
  const count = choice.items.length;
  return (
    <div class="batch" role="group" aria-label="Several at once">
      <label class="check">
        <input
          type="checkbox"
          checked={items.length > 0 && items.every(choice.has)}
          onChange={(event) => choice.toggle(items, event.currentTarget.checked)}
        />
        <span>{count > 0 ? `${count} chosen` : 'Choose all shown'}</span>
      </label>
      {hasMore && count > 0 && count < MAX_BATCH && (
        <Button look="quiet" isBusy={all.isReading} onClick={all.choose}>
          All that match
        </Button>
      )}
      {count > 0 && (
        <>
          <Button onClick={() => onDecide('Approve')}>Approve {count}</Button>
          <Button look="danger" onClick={() => onDecide('Reject')}>
            Reject {count}
          </Button>
          <Button look="quiet" icon={icons.close} label="Choose none" onClick={choice.clear} />
        </>
      )}
    </div>
  );
}

/** Reads the queue from its beginning, page after page. */
function useAll(address: Address, choice: Choice) {
  const client = useClient();
  const [isReading, setReading] = useState(false);
  const readPage = async (cursor: string | null) => {
    const variables = { ...variablesOf(address), k: LOOKED_THROUGH, cursor };
    const { data, error } = await client.query(queueQuery, variables, { requestPolicy: 'network-only' });
    if (error) toast(explain(error).text, true);
    return data?.reviewQueue;
  };
  const choose = async () => {
    setReading(true);
    const finding = findingOf(address);
    const found: Item[] = [];
    let page = await readPage(null);
    for (let pages = 1; page; pages += 1) {
      found.push(...page.items.filter((item) => !finding || FINDINGS[finding].has(item)));
      if (!page.nextCursor || found.length >= MAX_BATCH || pages === MAX_PAGES) break;
      page = await readPage(page.nextCursor);
    }
    setReading(false);
    choice.toggle(found.slice(0, MAX_BATCH), true);
  };
  return { isReading, choose };
}
