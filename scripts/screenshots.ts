// `npm run screenshots`: writes the pictures of docs/images, from a real gateway with memories of a made-up team, in Chromium.
// `-- --to FOLDER` writes them elsewhere, `-- --only NAME` only those whose name contains NAME.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from '../console/tests/support/browser.ts';
import { fillWithDemo } from '../console/tests/support/demo.ts';
import { shots } from '../console/tests/support/shots.ts';
import { startTestGateway } from '../gateway/tests/support/gateway.ts';
import { shootRecall } from './recall-screenshot.ts';

const { values } = parseArgs({ options: { to: { type: 'string' }, only: { type: 'string' } } });
const folder = resolve(values.to ?? join(import.meta.dirname, '..', 'docs', 'images'));
mkdirSync(folder, { recursive: true });

const gateway = await startTestGateway();
const browser = await launch();
try {
  const demo = await fillWithDemo(gateway);
  for (const { name, path, width = 1240, height = 780, colorScheme = 'light', as = 'L', prepare } of shots(demo)) {
    if (!name.includes(values.only ?? '')) continue;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme,
      baseURL: gateway.instance.url,
    });
    const page = await context.newPage();
    page.on('pageerror', (error) => process.stderr.write(`${name}: ${error}\n`));
    await page.addInitScript(`sessionStorage.setItem('l9-memory.secret', ${JSON.stringify(gateway.apiKey(as))})`);
    await page.goto(`/console${path}`);
    await page.locator('main h1').waitFor();
    await prepare?.(page, gateway);
    await page.waitForLoadState('networkidle');
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
    // From the last: each that goes moves those after it.
    for (const dismiss of (await page.getByRole('button', { name: 'Dismiss' }).all()).reverse()) await dismiss.click();
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
    process.stdout.write(`${name}.png\n`);
  }
  if ('editor-recall'.includes(values.only ?? '')) {
    await shootRecall(browser, gateway, join(folder, 'editor-recall.png'));
    process.stdout.write('editor-recall.png\n');
  }
} finally {
  await browser.close();
  await gateway.close();
}
process.exit();
