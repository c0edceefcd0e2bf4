import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/settings',
  title: 'Settings',
  order: 90,
  key: 'e',
  icon: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4',
  isForAdmins: true,
  load: () => import('./view.tsx'),
};
