// The process, its connections, and the replicas of the database.
import { Facts } from '../../components/fields-view.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatDuration, formatNumber } from '../../lib/format.ts';
import type { Gateway, Health } from './query.ts';

const poolColumns: readonly Column<Gateway['pools'][number]>[] = [
  { name: 'pool', title: 'Connections', isMain: true, show: ({ pool }) => pool },
  { name: 'used', title: 'In use', isNumber: true, show: ({ inUse }) => formatNumber(inUse) },
  { name: 'idle', title: 'Idle', isNumber: true, show: ({ idle }) => formatNumber(idle) },
  { name: 'waiting', title: 'Waiting requests', isNumber: true, show: ({ waiting }) => formatNumber(waiting) },
];

const replicaColumns: readonly Column<Gateway['replicas'][number]>[] = [
  { name: 'name', title: 'Replica', isMain: true, show: ({ name }) => name },
  { name: 'seconds', title: 'Behind', isNumber: true, show: ({ lagSeconds }) => formatDuration(lagSeconds) },
  {
    name: 'bytes',
    title: 'To replay',
    isNumber: true,
    show: ({ lagBytes }) => (lagBytes === null ? '–' : formatBytes(lagBytes)),
  },
];

export function Server({ health, gateway }: { health: Health; gateway: Gateway }) {
  return (
    <div class="stack">
      <Facts
        items={[
          ['Version', gateway.version],
          ['Started', <Time at={gateway.startedAt} />],
          ['Memory', formatBytes(gateway.residentBytes)],
          ['Engine', gateway.engine === 'embedded' ? 'embedded: PostgreSQL inside the process' : 'PostgreSQL server'],
          ['Database', formatBytes(Number(health.databaseBytes ?? 0))],
          [
            'Oldest transaction',
            gateway.longestTransactionSeconds === null ? null : formatDuration(gateway.longestTransactionSeconds),
          ],
          [
            'Audit log',
            health.lastSealedAt ? (
              <>
                sealed <Time at={health.lastSealedAt} />
              </>
            ) : (
              'not sealed yet'
            ),
          ],
          [
            'Views',
            health.viewsRefreshedAt ? (
              <>
                refreshed <Time at={health.viewsRefreshedAt} />
              </>
            ) : (
              'not refreshed yet'
            ),
          ],
          ['Replicas', gateway.replicas.length === 0 ? 'none' : formatNumber(gateway.replicas.length)],
        ]}
      />
      <List
        caption="Connections to the database"
        columns={poolColumns}
        rows={gateway.pools}
        keyOf={({ pool }) => pool}
      />
      {gateway.replicas.length > 0 && (
        <List caption="Replicas" columns={replicaColumns} rows={gateway.replicas} keyOf={({ name }) => name} />
      )}
    </div>
  );
}
