// What a reviewer does with memories, one or up to 500 at once. Each decision can be undone, the last one first.
import { useClient } from '@urql/preact';
import { useState } from 'preact/hooks';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { present } from '../../lib/me.ts';
import type { Correction } from '../../memory/correct-dialog.tsx';
import { approveMutation, type Item, mergeMutation, rejectMutation, undoMutation, versionsQuery } from './query.ts';

interface Done {
  packetIds: readonly string[];
  /** What was done, as a person reads it: 'Approved'. */
  what: string;
  name: string;
}

export const nameOf = ({ title, content }: Pick<Item, 'title' | 'content'>): string =>
  (title ?? content).split('\n')[0]!.slice(0, 80);
export const memoriesText = (count: number): string => (count === 1 ? '1 memory' : `${count} memories`);

/** To the microsecond: queue and memories write the same time in two ways. */
const instantOf = (time: string) =>
  `${Math.floor(Date.parse(time) / 1_000)} ${(/\.(\d+)/.exec(time)?.[1] ?? '').padEnd(6, '0')}`;

interface Listeners {
  onDone: (items: readonly Item[]) => void;
  onUndone: (ids: readonly string[]) => void;
}

export function useDecisions({ onDone, onUndone }: Listeners) {
  const client = useClient();
  const approving = useAction(approveMutation);
  const rejecting = useAction(rejectMutation);
  const merging = useAction(mergeMutation);
  const undoing = useAction(undoMutation);
  const [done, setDone] = useState<readonly Done[]>([]);
  const last = done.at(-1) ?? null;

  const finish = (items: readonly Item[], what: string) => {
    const packetIds = items.map(({ packetId }) => packetId);
    const name = items.length === 1 ? nameOf(items[0]!) : memoriesText(items.length);
    setDone([...done, { packetIds, what, name }]);
    onDone(items);
    return true;
  };
  /** Null where what was read is not what would be decided about. */
  const chosen = async (items: readonly Item[]) => {
    const packetIds = items.map(({ packetId }) => packetId);
    if (items.length === 1) return { packetIds, expectedVersion: items[0]!.updatedAt };
    const { data } = await client.query(versionsQuery, { ids: packetIds }, { requestPolicy: 'network-only' });
    const versions = new Map(present(data?.memories?.nodes).map((one) => [one.packetId, instantOf(one.updatedAt)]));
    const changed = items.filter(({ packetId, updatedAt }) => versions.get(packetId) !== instantOf(updatedAt));
    if (!data || changed.length === 0) return { packetIds };
    toast(`Nothing was decided: ${memoriesText(changed.length)} changed since you read the list. Read it again.`, true);
    return null;
  };
  return {
    last,
    isBusy: approving.isBusy || rejecting.isBusy || merging.isBusy || undoing.isBusy,
    error: approving.error ?? rejecting.error ?? merging.error,
    reset() {
      for (const action of [approving, rejecting, merging]) action.reset();
    },
    async approve(items: readonly Item[], given: Correction & { reason?: string } = {}) {
      const input = await chosen(items);
      const decided = input && (await approving.run({ input: { ...input, ...given } }))?.approveMemory?.decided;
      if (!decided) return false;
      const joined = decided.filter(({ mergedInto }) => mergedInto).length;
      if (joined > 0)
        return finish(
          items,
          items.length === 1 ? 'Joined with the same memory' : `Approved, and joined ${joined} with the same memory`,
        );
      return finish(items, given.text !== undefined || given.fields ? 'Corrected and approved' : 'Approved');
    },
    async reject(items: readonly Item[], reason: string) {
      const input = await chosen(items);
      return input && (await rejecting.run({ input: { ...input, reason } }))?.rejectMemory
        ? finish(items, 'Rejected')
        : false;
    },
    async merge(item: Item, keep: string, text: string | null) {
      const answer = await merging.run({
        input: { keep, others: [item.packetId], ...(text === null ? {} : { text }) },
      });
      return answer?.mergeMemories ? finish([item], 'Merged') : false;
    },
    async undo() {
      if (!last) return;
      const { packetIds, name } = last;
      const answer = await undoing.run({ input: { packetIds: [...packetIds] } });
      setDone(done.slice(0, -1));
      if (answer?.undoReview) {
        toast(`${packetIds.length === 1 ? 'Waits' : 'Wait'} for a review again: ${name}`);
        onUndone(packetIds);
      } else toast(undoing.error ? explain(undoing.error).text : 'This can’t be undone any more.', true);
    },
  };
}

export type Decisions = ReturnType<typeof useDecisions>;
