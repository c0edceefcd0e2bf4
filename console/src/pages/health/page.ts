import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/health',
  title: 'Health',
  order: 80,
  key: 'h',
  icon: 'M2 10h4l2-5 4 10 2-5h4',
  isForAdmins: true,
  load: () => import('./view.tsx'),
};
