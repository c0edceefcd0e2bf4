import { Link } from 'wouter-preact';
import { Chip, Scope } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber, shortId } from '../../lib/format.ts';
import type { AuditRow } from './query.ts';

/** How often, where equal refusals share a row. */
export const timesOf = ({ details }: AuditRow): number => Number(details?.times ?? 1);

export const isRefused = ({ status }: AuditRow): boolean => status === 'error';

/** The memory that the row is about, if it is about one. */
export const memoryOf = ({ tableName, rowId }: AuditRow): string | null =>
  tableName === 'packet_store' ? rowId : null;

export function Rows({ rows, onShow }: { rows: readonly AuditRow[]; onShow: (auditId: string) => void }) {
  const columns: readonly Column<AuditRow>[] = [
    { name: 'time', title: 'Time', show: ({ occurredAt }) => <Time at={occurredAt} isExact /> },
    { name: 'caller', title: 'Caller', show: ({ caller }) => <strong>{caller}</strong> },
    {
      name: 'operation',
      title: 'Operation',
      isMain: true,
      show: (row) => (
        <>
          <button type="button" class="as-link" onClick={() => onShow(row.auditId)}>
            {row.operation}
          </button>{' '}
          <span class="muted">
            {row.details?.operation_name ?? row.toolName} · {row.tableName}
          </span>
        </>
      ),
    },
    {
      name: 'status',
      title: 'Outcome',
      show: (row) =>
        isRefused(row) ? (
          <Chip tone="bad" title={row.details?.code}>
            {row.sqlstate}
            {timesOf(row) > 1 && ` × ${timesOf(row)}`}
          </Chip>
        ) : (
          <span class="muted">{counted(row)}</span>
        ),
    },
    {
      name: 'row',
      title: 'Row',
      show: (row) => {
        const memory = memoryOf(row);
        if (memory)
          return (
            <Link href={`/memories/${memory}`}>
              <code>{shortId(memory)}</code>
            </Link>
          );
        return row.rowId ? <code>{shortId(row.rowId)}</code> : null;
      },
    },
    { name: 'project', title: 'Project', show: ({ projectId }) => projectId ?? null },
    {
      name: 'scope',
      title: 'Scope',
      show: ({ scope }) => (scope ? <Scope name={scope} /> : null),
    },
  ];
  return <List caption="Audit rows, latest first" columns={columns} rows={rows} keyOf={({ auditId }) => auditId} />;
}

/** How many rows were read, where the row says so. */
function counted({ details }: AuditRow): string {
  const counts =
    typeof details?.tables === 'object' ? Object.values(details.tables) : [details?.rows ?? details?.ids?.length];
  const rows = counts.reduce<number>((sum, count) => sum + Number(count), 0);
  return Number.isNaN(rows) ? 'done' : rows === 1 ? '1 row' : `${formatNumber(rows)} rows`;
}
