// The pictures of docs/images.
import type { Page } from 'playwright-core';
import type { Demo } from './demo.ts';

export interface Shot {
  name: string;
  /** Below /console. */
  path: string;
  width?: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  /** The caller whose key is used. */
  as?: string;
  /** What is done before the picture is taken. */
  prepare?: (page: Page) => Promise<unknown>;
}

const search = '/search?q=how+often+are+payments+retried';
const why = (page: Page) => page.getByRole('button', { name: 'Why' }).first().click();

export const shots = ({ withHistory, hidden }: Demo): readonly Shot[] => [
  { name: 'console-search', path: search, prepare: why },
  { name: 'console-search-phone', path: search, prepare: why, width: 360, height: 720, colorScheme: 'dark' },
  { name: 'console-memories', path: '/memories' },
  { name: 'console-memories-dark', path: '/memories', colorScheme: 'dark' },
  { name: 'console-memory', path: `/memories/${withHistory}` },
  { name: 'console-access', path: `/memories/${hidden}?tab=access&as=C` },
  { name: 'console-history', path: `/memories/${withHistory}?tab=history` },
];
