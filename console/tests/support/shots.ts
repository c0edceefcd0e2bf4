// The pictures of docs/images.
import type { Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';
import type { Demo } from './demo.ts';
import * as steps from './tutorial.ts';

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
  prepare?: (page: Page, gateway: TestGateway) => Promise<unknown>;
}

const search = '/search?q=how+often+are+payments+retried';
const why = (page: Page) => page.getByRole('button', { name: 'Why' }).first().click();

// Each goes on from what the one before did, so that they are taken together: `--only tutorial`.
const tutorial: readonly Shot[] = [
  { name: 'tutorial-rule', path: '/search', prepare: steps.chooseRule },
  {
    name: 'tutorial-review',
    path: '/search',
    prepare: async (page, gateway) => {
      await steps.chooseRule(page);
      await steps.addRule(page);
      await steps.saveAsAgent(gateway);
      await gateway.embedded();
      await steps.openReview(page);
    },
  },
  {
    name: 'tutorial-why',
    path: '/review',
    prepare: async (page) => {
      await steps.approve(page);
      await steps.askWhy(page);
    },
  },
  {
    name: 'tutorial-edit',
    path: '/search',
    prepare: async (page) => {
      await steps.askWhy(page);
      await steps.beginToCorrect(page);
    },
  },
  {
    name: 'tutorial-access',
    path: '/search',
    height: 640,
    prepare: async (page) => {
      await steps.askWhy(page);
      await steps.beginToCorrect(page);
      await steps.saveCorrection(page);
      await steps.askWhoSees(page);
      await steps.hideFromC(page);
    },
  },
];

export const shots = ({ withHistory, hidden }: Demo): readonly Shot[] => [
  { name: 'console-search', path: search, prepare: why },
  { name: 'console-search-phone', path: search, prepare: why, width: 360, height: 720, colorScheme: 'dark' },
  { name: 'console-memories', path: '/memories' },
  { name: 'console-memories-dark', path: '/memories', colorScheme: 'dark' },
  { name: 'console-memory', path: `/memories/${withHistory}` },
  { name: 'console-access', path: `/memories/${hidden}?tab=access&as=C` },
  { name: 'console-history', path: `/memories/${withHistory}?tab=history` },
  { name: 'console-health', path: '/health', height: 900 },
  { name: 'console-settings', path: '/settings?part=ranking' },
  { name: 'console-facts', path: '/facts?subject=payment+worker' },
  { name: 'console-graph', path: '/facts/graph?entity=payment+worker' },
  { name: 'console-timeline', path: '/timeline' },
  { name: 'console-audit', path: '/audit' },
  ...tutorial,
];
