import './audit.css';
import { useState } from 'preact/hooks';
import { NewRows } from '../../components/new-rows.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { Chain } from './chain.tsx';
import { filtersIn, newerThan, toFilter } from './filter.ts';
import { Filters } from './filters.tsx';
import { auditNow, auditQuery, PAGE_SIZE } from './query.ts';
import { RowDialog } from './row-dialog.tsx';
import { Rows } from './rows.tsx';

const POLL_MS = 20_000;
/** New rows are counted up to here. */
const MAX_NEW = 100;

export default function AuditView() {
  const { isAdmin } = useMe();
  return (
    <PageView
      title="Audit"
      about="What each caller did, and what was refused. Nobody can change or remove a row unnoticed."
    >
      {isAdmin ? (
        <Log />
      ) : (
        <Empty title="Only administrators read the audit log">Sign in with a key of an administrator, such as L.</Empty>
      )}
    </PageView>
  );
}

function Log() {
  const address = useAddress();
  const filters = filtersIn(address);
  const filter = toFilter(filters);
  const after = address.get('after');
  const [row, setRow] = useState<string | null>(null);
  const [openedAt] = useState(() => new Date().toISOString());
  const log = useData(auditQuery, { first: PAGE_SIZE, after: after || null, filter });
  const rows = present(log.data?.admin?.auditLogs?.nodes);
  // Reading them from the table of actors would be one more row of the log.
  const callers = [...new Set(rows.map(({ caller }) => caller))].sort();
  const newest = rows[0]?.occurredAt ?? openedAt;
  const now = useData(
    auditNow,
    { first: MAX_NEW, filter: newerThan(newest, filter) },
    { pollMs: POLL_MS, skip: log.isLoading },
  );
  const shown = rows.find(({ auditId }) => auditId === row);
  const newer = after ? 0 : present(now.data?.admin?.auditLogs?.nodes).length;
  return (
    <>
      <Chain head={now.data?.admin?.auditHead ?? null} since={filters.since} until={filters.until} />
      <Filters
        key={JSON.stringify(filters)}
        filters={filters}
        callers={callers}
        onChange={(change) => address.set({ ...change, after: null })}
      />
      <Ready of={log} rows={10}>
        {({ admin }) =>
          rows.length === 0 ? (
            <Empty title="No such rows">Change or clear the filters.</Empty>
          ) : (
            <>
              <NewRows count={newer} isMore={newer >= MAX_NEW} onShow={log.refresh} />
              <Rows rows={rows} onShow={setRow} />
              <Pager
                onFirst={after ? () => address.set({ after: null }) : undefined}
                onNext={
                  admin?.auditLogs?.pageInfo.hasNextPage
                    ? () => address.set({ after: admin.auditLogs!.pageInfo.endCursor })
                    : undefined
                }
              />
            </>
          )
        }
      </Ready>
      {shown && (
        <RowDialog
          row={shown}
          onClose={() => setRow(null)}
          onFilter={(change) => {
            setRow(null);
            address.set({ ...change, after: null });
          }}
        />
      )}
    </>
  );
}
