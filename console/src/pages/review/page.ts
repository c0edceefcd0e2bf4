import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/review',
  title: 'Review',
  order: 30,
  key: 'r',
  icon: 'M3 10.5l4 4 10-10',
  isForAdmins: true,
  load: () => import('./view.tsx'),
};
