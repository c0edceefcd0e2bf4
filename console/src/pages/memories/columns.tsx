// The columns of the list: which there are, and which somebody chose.
import { Link } from 'wouter-preact';
import { Chip, Scope, Tags } from '../../components/chip.tsx';
import type { Column } from '../../components/list.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../lib/format.ts';
import { createStore } from '../../lib/store.ts';
import { ReviewMark } from '../../memory/review-mark.tsx';
import { Writer } from '../../memory/writer.tsx';
import type { Row } from './query.ts';

export const hrefOf = ({ packetId }: Row) => `/memories/${packetId}`;

const main: Column<Row> = {
  name: 'text',
  title: 'Memory',
  isMain: true,
  show: (row) => (
    <div class="memory-cell">
      <Link class="memory-text" href={hrefOf(row)}>
        {row.title ?? row.content}
      </Link>
      {row.supersededBy && <Chip tone="warn">superseded</Chip>}
      {row.archivedAt && <Chip>archived</Chip>}
      <ReviewMark memory={row} />
    </div>
  ),
};

const others: readonly Column<Row>[] = [
  { name: 'kind', title: 'Kind', show: ({ kind }) => kind },
  { name: 'scope', title: 'Scope', show: ({ scope }) => <Scope name={scope} /> },
  { name: 'project', title: 'Project', show: ({ projectId }) => projectId },
  { name: 'branch', title: 'Branch', show: ({ branch }) => branch },
  { name: 'tags', title: 'Tags', show: ({ tags }) => <Tags tags={tags} /> },
  { name: 'writer', title: 'Writer', show: ({ metadata }) => <Writer name={metadata?.creator} /> },
  { name: 'speaker', title: 'Speaker', show: ({ speaker }) => speaker },
  {
    name: 'importance',
    title: 'Importance',
    isNumber: true,
    show: (row) => formatNumber(row.importanceScore ?? row.estimatedImportance),
  },
  { name: 'happened', title: 'Happened', show: ({ timestamp }) => <Time at={timestamp} /> },
  { name: 'saved', title: 'Saved', show: ({ createdAt }) => <Time at={createdAt} /> },
];

const SLOT = 'l9-memory.columns';
const USUAL = ['kind', 'scope', 'project', 'tags', 'writer', 'happened'];

export const chosen = createStore<readonly string[]>(localStorage.getItem(SLOT)?.split(' ') ?? USUAL);

export function toggleColumn(name: string, isOn: boolean): void {
  const names = others.map((column) => column.name).filter((one) => (one === name ? isOn : chosen.get().includes(one)));
  localStorage.setItem(SLOT, names.join(' '));
  chosen.set(names);
}

export const columnNames = others.map(({ name, title }) => ({ name, title }));
export const columnsOf = (names: readonly string[]): Column<Row>[] => [
  main,
  ...others.filter(({ name }) => names.includes(name)),
];
