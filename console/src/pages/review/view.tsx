import { useMemo, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { NewRows } from '../../components/new-rows.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAddress } from '../../lib/address.ts';
import { useShortcuts } from '../../lib/keyboard.ts';
import { useMe } from '../../lib/me.ts';
import { EditDialog } from './edit-dialog.tsx';
import { ItemView } from './item.tsx';
import { MergeDialog } from './merge-dialog.tsx';
import { QueueList } from './queue-list.tsx';
import { RejectDialog } from './reject-dialog.tsx';
import { type Decisions, useDecisions } from './use-decisions.ts';
import { type Queue, useQueue } from './use-queue.ts';
import './review.css';

type Open = 'edit' | 'reject' | 'merge' | null;

export default function ReviewView() {
  const queue = useQueue();
  const decisions = useDecisions({ onDone: queue.drop, onUndone: queue.show });
  const waiting = queue.answer.data?.reviewQueue?.waiting ?? 0;
  return (
    <PageView title="Review" about={<About waiting={waiting} />}>
      <NewRows count={queue.newer} onShow={queue.show} />
      {decisions.last && (
        <p class="done" role="status">
          <span>
            {decisions.last.what}: <q>{decisions.last.name}</q>
          </span>
          <Button onClick={decisions.undo} isBusy={decisions.isBusy}>
            Undo <kbd>u</kbd>
          </Button>
        </p>
      )}
      <Ready of={queue.answer}>
        {({ reviewQueue }) =>
          queue.current ? (
            <Desk queue={queue} decisions={decisions} nextCursor={reviewQueue?.nextCursor ?? null} />
          ) : (
            !queue.answer.isRefreshing && <Nothing />
          )
        }
      </Ready>
    </PageView>
  );
}

const About = ({ waiting }: { waiting: number }) =>
  waiting === 0 ? (
    <>What agents want remembered counts for others only once a person approves it.</>
  ) : (
    <>
      {waiting >= 1_000 ? '1,000 or more' : waiting} {waiting === 1 ? 'memory waits' : 'memories wait'}. Until you
      decide, only {waiting === 1 ? 'its writer finds it' : 'their writers find them'}.
    </>
  );

const Nothing = () => (
  <Empty title="Nothing waits for a review">
    Rules in <Link href="/settings?part=review">Settings</Link> say what does, such as what agents write to a scope that
    all read.
  </Empty>
);

function Desk({ queue, decisions, nextCursor }: { queue: Queue; decisions: Decisions; nextCursor: string | null }) {
  const { isReadOnly } = useMe();
  const address = useAddress();
  const [open, setOpen] = useState<Open>(null);
  const item = queue.current!;
  const isMergeable = item.duplicates.length > 0;
  const begin = (what: Open) => {
    if (isReadOnly) return;
    decisions.reset();
    if (what === 'merge' && !isMergeable) toast('Nothing says nearly the same, so there is nothing to merge it with.');
    else setOpen(what);
  };
  const approve = () => !isReadOnly && !decisions.isBusy && void decisions.approve(item);
  useKeys({ queue, decisions, begin, approve });
  return (
    <div class="desk">
      <div class="desk-list">
        <QueueList items={queue.items} current={item} onSelect={queue.select} />
        {(nextCursor || address.get('cursor')) && (
          <div class="actions">
            {address.get('cursor') && <Button onClick={() => address.set({ cursor: null, item: null })}>Oldest</Button>}
            {nextCursor && <Button onClick={() => address.set({ cursor: nextCursor, item: null })}>Later ones</Button>}
          </div>
        )}
      </div>
      <article class="desk-item" aria-label="The memory">
        {!isReadOnly && (
          <div class="decide" role="toolbar" aria-label="Decide">
            <Button look="primary" isBusy={decisions.isBusy && open === null} onClick={approve}>
              Approve <kbd>a</kbd>
            </Button>
            <Button onClick={() => begin('edit')}>
              Edit <kbd>e</kbd>
            </Button>
            <Button look="danger" onClick={() => begin('reject')}>
              Reject <kbd>r</kbd>
            </Button>
            <Button isDisabled={!isMergeable} onClick={() => begin('merge')}>
              Merge <kbd>m</kbd>
            </Button>
            <span class="muted desk-keys">
              <kbd>j</kbd> <kbd>k</kbd> next, previous
            </span>
          </div>
        )}
        {decisions.error && open === null && <Failure error={decisions.error} onRetry={queue.show} />}
        <ItemView item={item} key={item.packetId} />
      </article>
      {open === 'edit' && <EditDialog item={item} decisions={decisions} onClose={() => setOpen(null)} />}
      {open === 'reject' && <RejectDialog item={item} decisions={decisions} onClose={() => setOpen(null)} />}
      {open === 'merge' && <MergeDialog item={item} decisions={decisions} onClose={() => setOpen(null)} />}
    </div>
  );
}

interface Keys {
  queue: Queue;
  decisions: Decisions;
  begin: (what: Open) => void;
  approve: () => void;
}

function useKeys(keys: Keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useShortcuts(
    useMemo(
      () => [
        { keys: 'a', does: 'Approve', run: () => latest.current.approve() },
        { keys: 'e', does: 'Edit and approve', run: () => latest.current.begin('edit') },
        { keys: 'r', does: 'Reject', run: () => latest.current.begin('reject') },
        { keys: 'm', does: 'Merge with what says the same', run: () => latest.current.begin('merge') },
        { keys: 'u', does: 'Undo the last decision', run: () => void latest.current.decisions.undo() },
        { keys: 'j', does: 'Next memory', run: () => latest.current.queue.move(1) },
        { keys: 'k', does: 'Previous memory', run: () => latest.current.queue.move(-1) },
      ],
      [],
    ),
  );
}
