// What a reviewer does with a memory. What was done last can be undone.
import { useState } from 'preact/hooks';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import type { Correction } from '../../memory/correct-dialog.tsx';
import { approveMutation, type Item, mergeMutation, rejectMutation, undoMutation } from './query.ts';

export interface Done {
  packetId: string;
  /** What was done, as a person reads it: 'Approved'. */
  what: string;
  name: string;
}

export const nameOf = ({ title, content }: Pick<Item, 'title' | 'content'>): string =>
  (title ?? content).split('\n')[0]!.slice(0, 80);

/** `onDone` hears of each decision, `onUndone` when the last one was taken back. */
export function useDecisions({ onDone, onUndone }: { onDone: (id: string) => void; onUndone: () => void }) {
  const approving = useAction(approveMutation);
  const rejecting = useAction(rejectMutation);
  const merging = useAction(mergeMutation);
  const undoing = useAction(undoMutation);
  const [last, setLast] = useState<Done | null>(null);

  const finish = (item: Item, what: string) => {
    setLast({ packetId: item.packetId, what, name: nameOf(item) });
    onDone(item.packetId);
    return true;
  };
  const versionOf = ({ packetId, updatedAt }: Item) => ({ packetIds: [packetId], expectedVersion: updatedAt });
  return {
    last,
    isBusy: approving.isBusy || rejecting.isBusy || merging.isBusy || undoing.isBusy,
    error: approving.error ?? rejecting.error ?? merging.error,
    reset() {
      for (const action of [approving, rejecting, merging]) action.reset();
    },
    async approve(item: Item, correction: Correction = {}) {
      const answer = await approving.run({ input: { ...versionOf(item), ...correction } });
      const [decided] = answer?.approveMemory?.decided ?? [];
      if (!decided) return false;
      const isCorrected = Object.keys(correction).length > 0;
      return finish(
        item,
        decided.mergedInto ? 'Joined with the same memory' : isCorrected ? 'Corrected and approved' : 'Approved',
      );
    },
    async reject(item: Item, reason: string) {
      const answer = await rejecting.run({ input: { ...versionOf(item), reason } });
      return answer?.rejectMemory ? finish(item, 'Rejected') : false;
    },
    async merge(item: Item, keep: string, text: string | null) {
      const answer = await merging.run({
        input: { keep, others: [item.packetId], ...(text === null ? {} : { text }) },
      });
      return answer?.mergeMemories ? finish(item, 'Merged') : false;
    },
    async undo() {
      if (!last) return;
      const answer = await undoing.run({ input: { packetIds: [last.packetId] } });
      if (answer?.undoReview) {
        toast(`Waits for a review again: ${last.name}`);
        setLast(null);
        onUndone();
      } else toast(undoing.error ? explain(undoing.error).text : 'This can’t be undone any more.', true);
    },
  };
}

export type Decisions = ReturnType<typeof useDecisions>;
