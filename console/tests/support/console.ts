// The console in a browser, on a gateway of its own. One gateway and one browser serve all tests of a file.
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../gateway/tests/support/gateway.ts';
import { launch } from './browser.ts';

export interface Visit {
  page: Page;
  /** Everything that the browser received, to look for what it must not. */
  received(): Promise<string>;
  /** Errors of scripts, and what the policy of the page refused. */
  problems: string[];
  close(): Promise<void>;
}

export interface VisitOptions extends BrowserContextOptions {
  /** Signs in with the API key of this caller, or with a token. */
  as?: string | { token: string };
  path?: string;
}

export interface TestConsole {
  gateway: TestGateway;
  browser: Browser;
  visit(options?: VisitOptions): Promise<Visit>;
}

const SLOT = 'l9-memory.secret';
const LONGEST_SHOWN = 600;

const problemsOf = new WeakMap<Page, string[]>();
let areWaitsExplained = false;

/** A wait that fails says what the page shows instead, and what went wrong in it. */
function explainFailedWaits(page: Page): void {
  if (areWaitsExplained) return;
  areWaitsExplained = true;
  const locators = Object.getPrototypeOf(page.locator('body')) as Locator;
  const { waitFor } = locators;
  locators.waitFor = async function (options) {
    await waitFor.call(this, options).catch(async (cause: Error) => {
      const page = this.page().locator('body, main').last();
      const shown = await page.innerText({ timeout: 5_000 }).catch(({ message }: Error) => message);
      const text = shown.slice(0, LONGEST_SHOWN).replaceAll(/\s+/g, ' ');
      const problems = (problemsOf.get(this.page()) ?? []).map((problem) => `The page reported: ${problem}`);
      throw new Error([`The page shows: ${text}`, ...problems, cause.message].join('\n'), { cause });
    });
  };
}

async function visit({ gateway, browser }: TestConsole, { as, path = '/', ...options }: VisitOptions): Promise<Visit> {
  const context: BrowserContext = await browser.newContext({ baseURL: gateway.instance.url, ...options });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const problems: string[] = [];
  problemsOf.set(page, problems);
  explainFailedWaits(page);
  const answers: Promise<string>[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on('response', (response) => {
    answers.push(response.text().catch(() => ''));
  });
  if (as !== undefined) {
    const secret = typeof as === 'string' ? gateway.apiKey(as) : as.token;
    await context.addInitScript(`sessionStorage.setItem(${JSON.stringify(SLOT)}, ${JSON.stringify(secret)})`);
  }
  await page.goto(`/console${path}`);
  return {
    page,
    problems,
    received: async () => `${(await Promise.all(answers)).join('\n')}\n${await page.content()}`,
    close: () => context.close(),
  };
}

/** Starts before the tests of the suite it is called in, and closes after them. */
export function useTestConsole(options: TestGatewayOptions = {}): TestConsole {
  const own = {} as TestConsole;
  const open: Visit[] = [];
  beforeAll(async () => {
    [own.gateway, own.browser] = await Promise.all([startTestGateway(options), launch()]);
    // The schema is built at the first request. On a busy machine that can take longer than a request may.
    await eventually(async () => (await own.gateway.graphql('L', '{ whoAmI { caller } }')).errors === undefined);
    own.visit = async (wanted = {}) => {
      const one = await visit(own, wanted);
      open.push(one);
      return one;
    };
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  afterAll(async () => {
    await own.browser?.close();
    await own.gateway?.close();
  });
  return own;
}
