// Tests in a real browser.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { hasBrowser } from './browser.ts';

const inBrowser = (describeTests: (name: string, tests: () => void) => void) => (name: string, tests: () => void) => {
  if (hasBrowser) describeTests(name, tests);
  else describe.skip(`${name} (skipped: no Chromium in the PATH; apt-get install chromium-headless-shell)`, tests);
};

/** Runs `describe` where there is a browser. Elsewhere the tests are skipped, and their name gives the reason. */
export const describeInBrowser = inBrowser(describe);
/** The same for what does not depend on the engine, such as further forms of a page. Its main task is tested on both. */
export const describeOnEmbeddedInBrowser = inBrowser(describeOnEmbedded);
