import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { Chip, Scope } from '../../components/chip.tsx';
import { Id } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Facts, Json } from '../../components/fields-view.tsx';
import { Time } from '../../components/time.tsx';
import type { Change } from '../../lib/address.ts';
import type { AuditRow } from './query.ts';
import { isRefused, memoryOf } from './rows.tsx';

/** In columns of their own. */
const SHOWN_ABOVE = new Set(['caller', 'creator', 'source', 'tool_name', 'session_id', 'trace_id', 'correlation_id']);

interface RowDialogProps {
  row: AuditRow;
  onClose: () => void;
  onFilter: (change: Change) => void;
}

export function RowDialog({ row, onClose, onFilter }: RowDialogProps) {
  const memory = memoryOf(row);
  const details = Object.fromEntries(Object.entries(row.details ?? {}).filter(([name]) => !SHOWN_ABOVE.has(name)));
  return (
    <Dialog
      title={`${row.operation} by ${row.caller}`}
      isWide
      onClose={onClose}
      actions={
        <>
          {row.rowId && <Button onClick={() => onFilter({ row: row.rowId })}>All of this row</Button>}
          <Button onClick={() => onFilter({ caller: row.caller })}>All by {row.caller}</Button>
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Facts
        items={[
          ['Time', <Time key="time" at={row.occurredAt} isExact />],
          [
            'Outcome',
            isRefused(row) ? (
              <>
                <Chip tone="bad">{row.sqlstate}</Chip> {row.details?.code}
              </>
            ) : (
              'success'
            ),
          ],
          ['Caller', [row.caller, row.creator, row.source].filter(Boolean).join(' · ')],
          ['Tool', row.toolName],
          ['Table', row.tableName],
          [
            'Row',
            memory ? (
              <Link key="row" href={`/memories/${memory}`}>
                {memory}
              </Link>
            ) : (
              row.rowId && <code key="row">{row.rowId}</code>
            ),
          ],
          ['Project', row.projectId],
          ['Scope', row.scope && <Scope key="scope" name={row.scope} />],
          ['Query', row.queryText],
          ['Session', row.sessionId],
          ['Trace', row.traceId],
          ['Reference', row.correlationId],
          ['Audit row', <Id key="id" id={row.auditId} what="Id of the audit row" />],
        ]}
      />
      <h3>Details</h3>
      <Json value={details} />
    </Dialog>
  );
}
