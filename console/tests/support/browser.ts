// A real browser for tests of the console: Debian's Chromium, or another one of the PATH. Where there is none, the tests are skipped.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function findBrowser(): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of NAMES) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // The next one.
      }
    }
  }
  return null;
}

const executablePath = findBrowser();

const inBrowser = (describeTests: (name: string, tests: () => void) => void) => (name: string, tests: () => void) => {
  if (executablePath) describeTests(name, tests);
  else describe.skip(`${name} (skipped: no Chromium in the PATH; apt-get install chromium)`, tests);
};

/** Runs `describe` where there is a browser. Elsewhere the tests are skipped, and their name gives the reason. */
export const describeInBrowser = inBrowser(describe);
/** The same for what does not depend on the engine, such as further forms of a page. Its main task is tested on both. */
export const describeOnEmbeddedInBrowser = inBrowser(describeOnEmbedded);

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: executablePath! });
