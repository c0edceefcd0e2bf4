import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/audit',
  title: 'Audit',
  order: 70,
  key: 'a',
  icon: 'M10 3l6 2v5c0 3.500-2.500 6-6 7-3.500-1-6-3.500-6-7V5zM7.500 10l2 2 3.500-4',
  isForAdmins: true,
  load: () => import('./view.tsx'),
};
