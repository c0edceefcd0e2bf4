import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/search',
  title: 'Search',
  order: 10,
  key: 's',
  icon: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5L17 17',
  load: () => import('./view.tsx'),
};
