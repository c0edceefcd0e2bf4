import { PageView } from '../../components/page-view.tsx';
import { type Tab, Tabs } from '../../components/tabs.tsx';
import { useAddress } from '../../lib/address.ts';
import { Archive } from './archive.tsx';
import { Callers } from './callers.tsx';
import { Keys } from './keys.tsx';
import { Kinds } from './kinds.tsx';
import { Projects } from './projects.tsx';
import { Finding, Ranking } from './ranking.tsx';
import { ReviewRules } from './review-rules.tsx';
import { Scopes } from './scopes.tsx';
import { Secrets } from './secrets.tsx';
import './settings.css';

const tabs: readonly Tab[] = [
  { name: 'callers', title: 'Callers', show: () => <Callers /> },
  { name: 'keys', title: 'Keys', show: () => <Keys /> },
  { name: 'scopes', title: 'Scopes', show: () => <Scopes /> },
  { name: 'projects', title: 'Projects', show: () => <Projects /> },
  { name: 'kinds', title: 'Kinds', show: () => <Kinds /> },
  { name: 'ranking', title: 'Ranking', show: () => <Ranking /> },
  { name: 'finding', title: 'memory_find', show: () => <Finding /> },
  { name: 'review', title: 'Review', show: () => <ReviewRules /> },
  { name: 'secrets', title: 'Secrets', show: () => <Secrets /> },
  { name: 'archive', title: 'Archive', show: () => <Archive /> },
];

export default function SettingsView() {
  const address = useAddress();
  return (
    <PageView title="Settings" about="Of this tenant. Each change is in the audit log, and holds at once.">
      <Tabs
        label="Settings"
        tabs={tabs}
        current={address.get('part')}
        onChange={(part) => address.set({ part, project: null })}
      />
    </PageView>
  );
}
