import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/timeline',
  title: 'Timeline',
  order: 60,
  key: 't',
  icon: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2',
  load: () => import('./view.tsx'),
};
