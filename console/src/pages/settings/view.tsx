import { Lazy } from '../../components/lazy.tsx';
import { PageView } from '../../components/page-view.tsx';
import { type Tab, Tabs } from '../../components/tabs.tsx';
import { useAddress } from '../../lib/address.ts';
import { Archive } from './archive.tsx';
import { Callers } from './callers.tsx';
import { Keys } from './keys.tsx';
import { ReviewRules } from './review-rules.tsx';
import { Scopes } from './scopes.tsx';
import { Secrets } from './secrets.tsx';
import './settings.css';

const projects = () => import('./projects.tsx').then(({ Projects }) => ({ default: Projects }));
const kinds = () => import('./kinds.tsx').then(({ Kinds }) => ({ default: Kinds }));
const ranking = () => import('./ranking.tsx').then(({ Ranking }) => ({ default: Ranking }));
const finding = () => import('./ranking.tsx').then(({ Finding }) => ({ default: Finding }));

const tabs: readonly Tab[] = [
  { name: 'callers', title: 'Callers', show: () => <Callers /> },
  { name: 'keys', title: 'Keys', show: () => <Keys /> },
  { name: 'scopes', title: 'Scopes', show: () => <Scopes /> },
  { name: 'projects', title: 'Projects', show: () => <Lazy key="projects" name="settings/projects" load={projects} /> },
  { name: 'kinds', title: 'Kinds', show: () => <Lazy key="kinds" name="settings/kinds" load={kinds} /> },
  { name: 'ranking', title: 'Ranking', show: () => <Lazy key="ranking" name="settings/ranking" load={ranking} /> },
  { name: 'finding', title: 'memory_find', show: () => <Lazy key="finding" name="settings/finding" load={finding} /> },
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
