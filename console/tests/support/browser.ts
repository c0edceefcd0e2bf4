// A real browser for tests of the console and for pictures of it: Debian's Chromium without windows, or another one of the PATH.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

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
export const hasBrowser = executablePath !== null;

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: executablePath! });
