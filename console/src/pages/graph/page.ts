import type { Page } from '../../lib/pages.ts';

export const page: Page = { path: '/facts/graph', title: 'Graph', load: () => import('./view.tsx') };
