import { useMemo } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { icons } from '../../components/icon.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Ready } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { Calls } from './calls.tsx';
import { Figures } from './figures.tsx';
import { Findings } from './findings.tsx';
import { Plots } from './plots.tsx';
import { findProblems } from './problems.ts';
import { type Health, healthQuery } from './query.ts';
import { Server } from './server.tsx';
import { Storage } from './storage.tsx';
import { Work } from './work.tsx';
import './health.css';

const POLL_MS = 20_000;

export default function HealthView() {
  const health = useData(healthQuery, {}, { pollMs: POLL_MS });
  return (
    <PageView
      title="Health"
      about="What is wrong now, and what to do."
      actions={
        <Button icon={icons.refresh} isBusy={health.isRefreshing} onClick={health.refresh}>
          Refresh
        </Button>
      }
    >
      <Ready of={health} rows={10}>
        {({ admin }) => admin?.health && <Overview health={admin.health} />}
      </Ready>
    </PageView>
  );
}

function Overview({ health }: { health: Health }) {
  const address = useAddress();
  const problems = useMemo(() => findProblems(health), [health]);
  const { gateway } = health;
  const tabs = [
    { name: 'work', title: 'Background work', show: () => <Work health={health} /> },
    ...(gateway
      ? [
          { name: 'calls', title: 'Calls', show: () => <Calls gateway={gateway} /> },
          { name: 'storage', title: 'Storage', show: () => <Storage health={health} /> },
          { name: 'server', title: 'Server', show: () => <Server health={health} gateway={gateway} /> },
        ]
      : []),
  ];
  return (
    <div class="stack">
      <Findings problems={problems} />
      <Figures health={health} />
      {gateway ? (
        <Plots minutes={gateway.minutes} />
      ) : (
        <p class="notice">
          Several tenants share this server. Figures of the whole server would tell of the others, so only an operator
          sees them.
        </p>
      )}
      <Tabs
        label="Parts"
        tabs={tabs}
        current={address.get('part')}
        onChange={(part) => address.set({ part }, { replace: true })}
      />
    </div>
  );
}
