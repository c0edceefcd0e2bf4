// What waits, oldest first.
import { useEffect, useRef } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { Time } from '../../components/time.tsx';
import type { Choice } from './batch.tsx';
import type { Item } from './query.ts';
import { nameOf } from './use-decisions.ts';

interface QueueListProps {
  items: readonly Item[];
  current: Item | null;
  onSelect: (item: Item) => void;
  /** Null for those who can decide nothing. */
  choice: Choice | null;
}

export function QueueList({ items, current, onSelect, choice }: QueueListProps) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current?.packetId]);
  return (
    <ol ref={list} class="queue" aria-label="Memories that wait, oldest first">
      {items.map((item) => (
        <li key={item.packetId}>
          {choice && (
            <label class="queue-tick">
              <input
                type="checkbox"
                aria-label={`Choose ${nameOf(item)}`}
                checked={choice.has(item)}
                onChange={(event) => choice.toggle([item], event.currentTarget.checked)}
              />
            </label>
          )}
          <button
            type="button"
            aria-current={item.packetId === current?.packetId ? 'true' : undefined}
            onClick={() => onSelect(item)}
          >
            <span class="queue-name">{nameOf(item)}</span>
            <span class="queue-about">
              {item.creator}, <Time at={item.createdAt} />
              <Marks item={item} />
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

/** What a reviewer should know before reading: that it is said already, that it contradicts something, that it was rejected. */
function Marks({ item }: { item: Item }) {
  return (
    <>
      {item.contradictions.length > 0 && <Chip tone="bad">contradicts</Chip>}
      {item.duplicates.length > 0 && <Chip tone="warn">similar</Chip>}
      {item.rejectedBefore.length > 0 && <Chip tone="bad">rejected before</Chip>}
    </>
  );
}
