import type { Page } from '../../lib/pages.ts';

export const page: Page = {
  path: '/facts',
  title: 'Facts & graph',
  order: 50,
  key: 'f',
  icon: 'M5 5h.01M15 6h.01M9 15h.01M5 5l10 1M15 6L9 15M9 15L5 5M3.500 5a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M13.500 6a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M7.500 15a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0',
  load: () => import('./view.tsx'),
};
