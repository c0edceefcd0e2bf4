// `npm run bench:console`: what a person waits for in the console, in Chromium, on the server of TEST_DATABASE_URL (superuser): the first
// paint, a search beside the time of its API, and paging at the top of a long list and deep in it. `--keep` keeps the loaded database.

import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { launch } from '../console/tests/support/browser.ts';
import { startTestGateway } from '../gateway/tests/support/gateway.ts';
import { figure, type Row, ratio } from './support/bench.ts';
import { openBenchDatabase } from './support/database.ts';
import { quantile } from './support/load.ts';
import { table } from './support/results.ts';
import { tenantsFor } from './support/tenants.ts';
import { queryText } from './support/texts.ts';

const VISITS = 7;
const SEARCHES = 15;
const PAGES = 10;
/** The most rows of one page of the API. */
const LEAP = 1_000;
const PAGE_OF_LIST = `query ($first: Int!, $after: Cursor) {
  memories(first: $first, after: $after, orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC]) { pageInfo { endCursor } }
}`;
const median = (values: readonly number[]) => quantile(values, 0.5);

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '100000' }, keep: { type: 'boolean', default: false } },
});
const url = process.env.TEST_DATABASE_URL;
if (!url) throw new Error('TEST_DATABASE_URL: must be a URL of a superuser of a PostgreSQL 18 server');
const rows = Number(options.rows);

const report = (line: string) => process.stderr.write(`${line}\n`);
const database = await openBenchDatabase(url, rows, report);
const gateway = await startTestGateway({
  home: { ...database.home, drop: async () => {} },
  buildsSchemaOnDemand: false,
});
const browser = await launch();
const tenant = tenantsFor(rows).find(({ name }) => name === 'sixty percent')!;
const token = await gateway.token({ caller: 'C', tenantId: tenant.id, expires: '1h' });

async function open(path: string): Promise<Page> {
  const context = await browser.newContext({ baseURL: gateway.instance.url });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem('l9-memory.secret', ${JSON.stringify(token)})`);
  await page.goto(`/console${path}`);
  return page;
}

/** From the start of the navigation to the first paint, in milliseconds. */
async function firstPaint(): Promise<number> {
  const page = await open('/memories');
  await page.locator('tbody tr').first().waitFor();
  const at = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);
  await page.context().close();
  return at as number;
}

/** The time from the key Enter until the hits are on the screen, and the part of it that the request took. */
async function search(page: Page, query: string): Promise<{ whole: number; api: number }> {
  await page.getByRole('searchbox').fill(query);
  await page.evaluate(`
    performance.clearResourceTimings();
    window.asked = null;
    window.shown = new Promise((resolve) => {
      addEventListener('keydown', () => { window.asked = performance.now(); }, { once: true, capture: true });
      new MutationObserver((_changes, observer) => {
        if (window.asked === null || !document.querySelector('.searched') || !performance.getEntriesByType('resource').length) return;
        observer.disconnect();
        requestAnimationFrame(() => resolve(performance.now() - window.asked));
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    null`);
  await page.keyboard.press('Enter');
  return (await page.evaluate(`window.shown.then((whole) => ({
    whole,
    api: performance.getEntriesByType('resource').reduce((sum, { duration }) => Math.max(sum, duration), 0),
  }))`)) as { whole: number; api: number };
}

/** The cursor behind so many of the newest memories. */
async function cursorAt(depth: number): Promise<string> {
  let after: string | null = null;
  for (let passed = 0; passed < depth; passed += LEAP) {
    const { data, errors } = await gateway.graphql({ token }, PAGE_OF_LIST, { first: LEAP, after });
    if (errors) throw new Error(JSON.stringify(errors));
    after = data.memories.pageInfo.endCursor;
  }
  return after!;
}

/** The times of pages of 50 memories, one after another, from this cursor on. */
async function turnPages(after: string): Promise<number[]> {
  const page = await open(`/memories${after && `?after=${encodeURIComponent(after)}`}`);
  await page.locator('tbody tr').first().waitFor();
  const times: number[] = [];
  for (let turned = 0; turned < PAGES; turned += 1) {
    const first = await page.locator('tbody tr').first().getAttribute('data-key');
    const began = performance.now();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator(`tbody tr:first-child:not([data-key="${first}"])`).waitFor();
    times.push(performance.now() - began);
  }
  await page.context().close();
  return times;
}

const found: Row[] = [];
try {
  await firstPaint();
  const paints: number[] = [];
  for (let visit = 0; visit < VISITS; visit += 1) paints.push(await firstPaint());
  found.push(figure({ what: 'first paint', ours: median(paints), unit: 'ms', goal: { atMost: 1_000 } }));

  const page = await open('/search');
  const searches: { whole: number; api: number }[] = [];
  for (let n = 0; n < SEARCHES; n += 1) searches.push(await search(page, queryText(n, n)));
  const beyond = median(searches.map(({ whole, api }) => whole - api));
  found.push(
    figure({ what: 'search to hits, beyond the time of the API', ours: beyond, unit: 'ms', goal: { atMost: 50 } }),
  );

  const depth = Math.floor((tenant.visible * 0.9) / LEAP) * LEAP;
  const deep = await cursorAt(depth);
  const [early, late] = [await turnPages(''), await turnPages(deep)];
  found.push(
    ratio({
      what: `a page of 50 among ${tenant.visible.toLocaleString('en')} memories, behind ${depth.toLocaleString('en')}`,
      against: 'one of the first',
      ours: median(late),
      theirs: median(early),
      unit: 'ms',
      goal: { atMost: 1.5 },
    }),
  );
} finally {
  await browser.close();
  await gateway.close();
  await database.close(options.keep);
}
process.stdout.write(`${table(found)}\n`);
process.exit(found.every(({ isReached }) => isReached !== false) ? 0 : 1);
