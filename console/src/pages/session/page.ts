import type { Page } from '../../lib/pages.ts';

export const page: Page = { path: '/timeline/sessions/:archiveId', title: 'Session', load: () => import('./view.tsx') };
