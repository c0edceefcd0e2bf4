import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { NewRows } from '../../components/new-rows.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { type Address, useAddress } from '../../lib/address.ts';
import { useMe } from '../../lib/me.ts';
import { Batch, type Choice, useChoice } from './batch.tsx';
import { DecideDialog } from './decide-dialog.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { Filters } from './filters.tsx';
import { ItemView } from './item.tsx';
import { MergeDialog } from './merge-dialog.tsx';
import { FILTERS, type Item, type QueuePage } from './query.ts';
import { QueueList } from './queue-list.tsx';
import { type Decisions, useDecisions } from './use-decisions.ts';
import { type Act, useKeys } from './use-keys.ts';
import { type Queue, useQueue } from './use-queue.ts';
import './review.css';

export default function ReviewView() {
  const address = useAddress();
  const queue = useQueue(address);
  const choice = useChoice();
  const decisions = useDecisions({
    onDone(items) {
      queue.drop(items);
      choice.toggle(items, false);
    },
    onUndone: queue.restore,
  });
  const waiting = queue.answer.data?.reviewQueue?.waiting ?? 0;
  return (
    <PageView title="Review" about={<About waiting={waiting} />}>
      <Filters address={address} items={queue.items} />
      <Last decisions={decisions} />
      <NewRows count={queue.newer} onShow={queue.show} />
      <Ready of={queue.answer}>
        {({ reviewQueue }) => reviewQueue && <Desk {...{ address, queue, decisions, choice }} page={reviewQueue} />}
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

/** It is there from the start, so that nothing below it moves at the first decision. */
const Last = ({ decisions: { last, undo, isBusy } }: { decisions: Decisions }) => (
  <div class={`done ${last ? '' : 'none'}`} role="status">
    {last ? (
      <>
        <span>
          {last.what}: <q>{last.name}</q>
        </span>
        <Button onClick={undo} isBusy={isBusy}>
          Undo <kbd>u</kbd>
        </Button>
      </>
    ) : (
      <span>What you decide stands here, and can be undone.</span>
    )}
  </div>
);

function Nothing({ address, hasMore }: { address: Address; hasMore: boolean }) {
  if (hasMore)
    return <Empty title="None of those that were looked through">Further ones wait: look at later ones.</Empty>;
  if (FILTERS.some((name) => address.get(name)))
    return <Empty title="Nothing that waits matches">Loosen a filter to see what else does.</Empty>;
  return (
    <Empty title="Nothing waits for a review">
      Rules in <Link href="/settings?part=review">Settings</Link> say what does, such as what agents write to a scope
      that all read.
    </Empty>
  );
}

interface DeskProps {
  address: Address;
  queue: Queue;
  decisions: Decisions;
  choice: Choice;
  page: QueuePage;
}

function Desk({ address, queue, decisions, choice, page: { nextCursor } }: DeskProps) {
  const { isReadOnly = false } = useMe();
  const [open, setOpen] = useState<{ act: Act; items: readonly Item[] } | null>(null);
  const item = queue.current;
  const act = (what: Act, items: readonly Item[] = item ? [item] : []) => {
    if (isReadOnly || decisions.isBusy || items.length === 0) return;
    decisions.reset();
    if (what === 'merge' && items[0]!.duplicates.length === 0)
      toast('Nothing says nearly the same, so there is nothing to merge it with.');
    else if (what === 'approve' && items.length === 1) void decisions.approve(items);
    else setOpen({ act: what, items });
  };
  useKeys({ queue, decisions, choice, act });
  const close = () => setOpen(null);
  const later = nextCursor && (
    <Button onClick={() => address.set({ cursor: nextCursor, item: null })}>Later ones</Button>
  );
  const oldest = address.get('cursor') && (
    <Button onClick={() => address.set({ cursor: null, item: null })}>Oldest</Button>
  );
  return (
    <>
      {item ? (
        <div class="desk">
          <div class="desk-list">
            <Batch
              {...{ address, choice }}
              isReadOnly={isReadOnly === true}
              items={queue.items}
              hasMore={nextCursor !== null || address.get('cursor') !== ''}
              onDecide={(does) => act(does === 'Approve' ? 'approve' : 'reject', choice.items)}
            />
            <QueueList items={queue.items} current={item} onSelect={queue.select} choice={isReadOnly ? null : choice} />
            {(later || oldest) && (
              <div class="actions">
                {oldest}
                {later}
              </div>
            )}
          </div>
          <article class="desk-item" aria-label="The memory">
            {!isReadOnly && <Toolbar item={item} isBusy={decisions.isBusy && open === null} act={act} />}
            {decisions.error && open === null && <Failure error={decisions.error} onRetry={queue.answer.refresh} />}
            <ItemView item={item} key={item.packetId} />
          </article>
        </div>
      ) : (
        !queue.answer.isRefreshing && (
          <>
            <Nothing address={address} hasMore={nextCursor !== null} />
            <p class="pager">
              {oldest}
              {later}
            </p>
          </>
        )
      )}
      {open?.act === 'edit' && <EditDialog item={open.items[0]!} decisions={decisions} onClose={close} />}
      {open?.act === 'merge' && <MergeDialog item={open.items[0]!} decisions={decisions} onClose={close} />}
      {(open?.act === 'reject' || open?.act === 'approve') && (
        <DecideDialog
          does={open.act === 'reject' ? 'Reject' : 'Approve'}
          items={open.items}
          decisions={decisions}
          onClose={close}
        />
      )}
    </>
  );
}

function Toolbar({ item, isBusy, act }: { item: Item; isBusy: boolean; act: (what: Act) => void }) {
  return (
    <div class="decide" role="toolbar" aria-label="Decide">
      <Button look="primary" isBusy={isBusy} onClick={() => act('approve')}>
        Approve <kbd>a</kbd>
      </Button>
      <Button onClick={() => act('edit')}>
        Edit <kbd>e</kbd>
      </Button>
      <Button look="danger" onClick={() => act('reject')}>
        Reject <kbd>r</kbd>
      </Button>
      <Button isDisabled={item.duplicates.length === 0} onClick={() => act('merge')}>
        Merge <kbd>m</kbd>
      </Button>
      <span class="muted desk-keys">
        <kbd>j</kbd> <kbd>k</kbd> next, previous; <kbd>x</kbd> choose
      </span>
    </div>
  );
}
