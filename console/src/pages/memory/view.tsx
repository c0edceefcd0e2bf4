import { useMemo, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { Chip, Scope, Tags } from '../../components/chip.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { type Tab, Tabs } from '../../components/tabs.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { useShortcuts } from '../../lib/keyboard.ts';
import { useMe } from '../../lib/me.ts';
import { DeleteMemory } from '../../memory/delete-memory.tsx';
import { EditMemory } from '../../memory/edit-memory.tsx';
import { ReviewMark } from '../../memory/review-mark.tsx';
import { mayChange } from '../../memory/rights.ts';
import { Access } from './access.tsx';
import { Audit } from './audit.tsx';
import { History } from './history.tsx';
import './memory.css';
import { Overview } from './overview.tsx';
import { type Memory, memoryQuery } from './query.ts';
import { Knowledge, Similar } from './related.tsx';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export default function MemoryView({ id = '' }: Record<string, string>) {
  const answer = useData(memoryQuery, { id }, { skip: !UUID.test(id) });
  const memory = answer.data?.memoryByPacketId;
  if (memory && memory.packetId === id.toLowerCase())
    return <Shown key={id} memory={memory} onChanged={answer.refresh} />;
  return (
    <PageView title="Memory">{UUID.test(id) ? <Ready of={answer}>{() => <NotFound />}</Ready> : <NotFound />}</PageView>
  );
}

const NotFound = () => (
  <Empty title="Not found, or not yours">
    There is no memory with this id that you can read. It may have expired, been deleted, or belong to others.{' '}
    <Link href="/memories">All memories</Link>
  </Empty>
);

function Shown({ memory, onChanged }: { memory: Memory; onChanged: () => void }) {
  const me = useMe();
  const address = useAddress();
  const [, navigate] = useLocation();
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null);
  const isChangeable = mayChange(me, memory);
  useShortcuts(
    useMemo(
      () => (isChangeable ? [{ keys: 'e', does: 'Edit this memory', run: () => setOpen('edit') }] : []),
      [isChangeable],
    ),
  );
  const facts = memory.facts.nodes.length + memory.relationships.nodes.length;
  // What was read about a version says nothing about the next one.
  const version = memory.updatedAt;
  const tabs: Tab[] = [
    { name: 'text', title: 'Text', show: () => <Overview memory={memory} /> },
    { name: 'access', title: 'Who may see it', show: () => <Access key={version} memory={memory} /> },
    { name: 'history', title: 'History', show: () => <History memory={memory} onChanged={onChanged} /> },
    { name: 'similar', title: 'Near duplicates', show: () => <Similar key={version} memory={memory} /> },
    {
      name: 'facts',
      title: facts > 0 ? `Facts & relations (${facts})` : 'Facts & relations',
      show: () => <Knowledge memory={memory} />,
    },
    ...(me.isAdmin ? [{ name: 'audit', title: 'Audit', show: () => <Audit key={version} memory={memory} /> }] : []),
  ];
  return (
    <PageView
      title={titleOf(memory)}
      about={<Labels memory={memory} />}
      actions={
        isChangeable && (
          <>
            <Button onClick={() => setOpen('edit')}>Edit</Button>
            <Button look="danger" onClick={() => setOpen('delete')}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Tabs
        label="About this memory"
        tabs={tabs}
        current={address.get('tab')}
        onChange={(tab) => address.set({ tab: tab === 'text' ? null : tab }, { replace: true })}
      />
      {open === 'edit' && <EditMemory memory={memory} onClose={() => setOpen(null)} onSaved={onChanged} />}
      {open === 'delete' && (
        <DeleteMemory memory={memory} onClose={() => setOpen(null)} onDeleted={() => navigate('/memories')} />
      )}
    </PageView>
  );
}

const TITLE_LENGTH = 72;

function titleOf({ title, content }: Memory): string {
  const line = (title ?? content ?? '').trim().split('\n')[0] ?? '';
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1).trimEnd()}…` : line || 'Memory';
}

function Labels({ memory }: { memory: Memory }) {
  return (
    <span class="labels">
      <Scope name={memory.scope} />
      <Chip>{memory.kind}</Chip>
      {memory.projectId && <Chip>{memory.projectId}</Chip>}
      {memory.branch && <Chip>{memory.branch}</Chip>}
      <ReviewMark memory={memory} />
      {memory.archivedAt && <Chip>archived</Chip>}
      {memory.supersededBy && (
        <Link class="chip warn" href={`/memories/${memory.supersededBy}`}>
          superseded by another memory
        </Link>
      )}
      <Tags tags={memory.tags} />
    </span>
  );
}
