// The pictures of docs/images.
import type { Page } from 'playwright-core';

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

/** `memory` is a memory with a history. */
export const shots = (_memory: string): readonly Shot[] => [
  { name: 'console-memories', path: '/memories' },
  { name: 'console-memories-dark', path: '/memories', colorScheme: 'dark' },
  { name: 'console-memories-phone', path: '/memories', width: 320, height: 640 },
];
