import { useMemo, useRef } from 'preact/hooks';
import { useShortcuts } from '../../lib/keyboard.ts';
import type { Choice } from './batch.tsx';
import type { Item } from './query.ts';
import type { Decisions } from './use-decisions.ts';
import type { Queue } from './use-queue.ts';

export type Act = 'approve' | 'edit' | 'reject' | 'merge';

interface Keys {
  queue: Queue;
  decisions: Decisions;
  choice: Choice;
  /** About these memories, or the one that is shown. */
  act: (what: Act, items?: readonly Item[]) => void;
}

export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useShortcuts(
    useMemo(() => {
      const toggle = ({ choice, queue: { current } }: Keys) =>
        current && choice.toggle([current], !choice.has(current));
      return [
        { keys: 'a', does: 'Approve', run: () => latest.current.act('approve') },
        { keys: 'e', does: 'Edit and approve', run: () => latest.current.act('edit') },
        { keys: 'r', does: 'Reject', run: () => latest.current.act('reject') },
        { keys: 'm', does: 'Merge with what says the same', run: () => latest.current.act('merge') },
        { keys: 'u', does: 'Undo the last decision', run: () => void latest.current.decisions.undo() },
        { keys: 'j', does: 'Next memory', run: () => latest.current.queue.move(1) },
        { keys: 'k', does: 'Previous memory', run: () => latest.current.queue.move(-1) },
        { keys: 'x', does: 'Choose it, or not', run: () => toggle(latest.current) },
        {
          keys: 'A',
          does: 'Approve all that are chosen',
          run: () => latest.current.act('approve', latest.current.choice.items),
        },
        {
          keys: 'R',
          does: 'Reject all that are chosen',
          run: () => latest.current.act('reject', latest.current.choice.items),
        },
      ];
    }, []),
  );
}
