// What was called in the last hour, what was slow, and what a limit refused.
import { type Column, List } from '../../components/list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatDuration, formatNumber } from '../../lib/format.ts';
import type { Gateway } from './query.ts';

const milliseconds = (value: number) => formatDuration(value / 1_000);

const operationColumns: readonly Column<Gateway['operations'][number]>[] = [
  { name: 'operation', title: 'Operation', isMain: true, show: ({ operation }) => <code>{operation}</code> },
  { name: 'calls', title: 'Calls', isNumber: true, show: ({ calls }) => formatNumber(calls) },
  { name: 'refused', title: 'Refused', isNumber: true, show: ({ refused }) => formatNumber(refused) },
  { name: 'failed', title: 'Failed', isNumber: true, show: ({ failed }) => formatNumber(failed) },
  { name: 'mean', title: 'Mean', isNumber: true, show: ({ meanMs }) => milliseconds(meanMs) },
  { name: 'slowest', title: 'Slowest', isNumber: true, show: ({ slowestMs }) => milliseconds(slowestMs) },
];

const slowColumns: readonly Column<Gateway['slowCalls'][number]>[] = [
  { name: 'operation', title: 'Slow call', isMain: true, show: ({ operation }) => <code>{operation}</code> },
  { name: 'route', title: 'How', show: ({ route }) => route ?? '–' },
  { name: 'sql', title: 'SQL', isNumber: true, show: ({ sqlMs }) => milliseconds(sqlMs) },
  { name: 'at', title: 'When', show: ({ at }) => <Time at={at} /> },
];

const limitColumns: readonly Column<Gateway['limits'][number]>[] = [
  { name: 'limit', title: 'Limit', isMain: true, show: ({ limit }) => <code>{limit}</code> },
  { name: 'refused', title: 'Refused requests', isNumber: true, show: ({ refused }) => formatNumber(refused) },
];

export function Calls({ gateway }: { gateway: Gateway }) {
  const { operations, slowCalls, slowQueryMs, limits } = gateway;
  if (operations.length === 0 && limits.length === 0)
    return <Empty title="Nothing was called in the last hour">The gateway counts from its start on.</Empty>;
  return (
    <div class="stack">
      <List caption="Operations" columns={operationColumns} rows={operations} keyOf={({ operation }) => operation} />
      {slowCalls.length > 0 ? (
        <List
          caption="Slow calls"
          columns={slowColumns}
          rows={slowCalls}
          keyOf={({ at, operation, sqlMs }) => `${at} ${operation} ${sqlMs}`}
        />
      ) : (
        <p class="muted">
          {slowQueryMs === null
            ? 'No call counts as slow, because SLOW_QUERY_MS is -1.'
            : `No call took longer than ${formatNumber(slowQueryMs)} ms.`}
        </p>
      )}
      {limits.length > 0 ? (
        <List caption="Rate limits" columns={limitColumns} rows={limits} keyOf={({ limit }) => limit} />
      ) : (
        <p class="muted">No rate limit refused a request.</p>
      )}
    </div>
  );
}
