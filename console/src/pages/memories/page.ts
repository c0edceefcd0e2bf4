import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/memories',
  title: 'Memories',
  order: 20,
  key: 'm',
  icon: 'M4 4h12v12H4zM7 8h6M7 11h6',
  load: () => import('./view.tsx'),
};
