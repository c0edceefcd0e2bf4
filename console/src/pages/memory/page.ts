import type { Page } from '../../lib/pages.ts';

export const page: Page = { path: '/memories/:id', title: 'Memory', load: () => import('./view.tsx') };
