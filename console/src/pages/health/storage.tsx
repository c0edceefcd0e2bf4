// Sizes and use of tables and indexes.
import { Chip } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import type { Health } from './query.ts';

type Table = NonNullable<NonNullable<Health['tables']>[number]>;
type Index = NonNullable<NonNullable<Health['indexes']>[number]>;

const bare = (name: string | null) => (name ?? '').replace(/^public\./, '');

/** Of all reads, those that used an index. */
const indexUse = ({ sequentialScans, indexScans }: Table) => {
  const all = Number(sequentialScans) + Number(indexScans);
  return all === 0 ? '–' : `${Math.round((100 * Number(indexScans)) / all)} %`;
};

const tableColumns: readonly Column<Table>[] = [
  { name: 'name', title: 'Table', isMain: true, show: ({ tableName }) => <code>{bare(tableName)}</code> },
  { name: 'rows', title: 'Rows', isNumber: true, show: ({ liveRows }) => formatNumber(Number(liveRows)) },
  { name: 'dead', title: 'Dead', isNumber: true, show: ({ deadRows }) => formatNumber(Number(deadRows)) },
  { name: 'size', title: 'Size', isNumber: true, show: ({ tableBytes }) => formatBytes(Number(tableBytes)) },
  { name: 'indexes', title: 'Indexes', isNumber: true, show: ({ indexBytes }) => formatBytes(Number(indexBytes)) },
  { name: 'use', title: 'Read by index', isNumber: true, show: indexUse },
  { name: 'vacuum', title: 'Vacuumed', show: ({ lastVacuumAt }) => <Time at={lastVacuumAt} /> },
];

const indexColumns: readonly Column<Index>[] = [
  {
    name: 'name',
    title: 'Index',
    isMain: true,
    show: ({ indexName, isValid, isUnique }) => (
      <>
        <code>{bare(indexName)}</code> {isUnique && <Chip>unique</Chip>}
        {isValid === false && <Chip tone="bad">not valid</Chip>}
      </>
    ),
  },
  { name: 'size', title: 'Size', isNumber: true, show: ({ bytes }) => formatBytes(Number(bytes)) },
  { name: 'scans', title: 'Uses', isNumber: true, show: ({ scans }) => formatNumber(Number(scans)) },
  { name: 'last', title: 'Last used', show: ({ lastScanAt }) => <Time at={lastScanAt} /> },
];

export function Storage({ health }: { health: Health }) {
  const tables = present(health.tables);
  const indexes = present(health.indexes);
  if (tables.length === 0)
    return <Empty title="The sizes can't be read just now">A table is locked. They come back by themselves.</Empty>;
  return (
    <div class="stack">
      <List
        caption="The largest tables"
        columns={tableColumns}
        rows={tables}
        keyOf={({ tableName }) => tableName ?? ''}
      />
      <List
        caption="The largest indexes"
        columns={indexColumns}
        rows={indexes}
        keyOf={({ indexName }) => indexName ?? ''}
      />
    </div>
  );
}
