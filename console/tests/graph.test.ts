import { eventually } from '../../db/tests/support/eventually.ts';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const CANARY = 'canary-of-l-private';
const RELATE = 'mutation ($relation: RelateInput!) { relate(input: $relation) { clientMutationId } }';

describeOnEmbeddedInBrowser('the page of the graph', () => {
  const own = useTestConsole();
  const relate = (caller: string, source: string, type: string, target: string, more: object = {}) =>
    own.gateway.query(caller, RELATE, { relation: { source, type, target, projectId: 'l9', ...more } });
  beforeAll(async () => {
    await relate('C', 'billing', 'depends on', 'Postgres');
    await relate('C', 'billing', 'writes to', 'Postgres');
    await relate('C', 'checkout', 'calls', 'billing');
    await relate('C', 'Postgres', 'runs on', 'db-1');
    await relate('C', 'db-1', 'stands in', 'Frankfurt');
    await relate('L', 'billing', 'is sold to', CANARY, { scope: 'l-private' });
    await own.gateway.query(
      'C',
      'mutation { addAlias(input: { alias: "PG", entity: "Postgres", projectId: "l9" }) { clientMutationId } }',
    );
  });
  /** Without a graphics card, the first drawing of a page takes seconds. */
  const visit = async (as: string, path: string, more: object = {}) => {
    const one = await own.visit({ as, path, ...more });
    one.page.setDefaultTimeout(60_000);
    return one;
  };
  const around = (entity: string) => `/facts/graph?entity=${encodeURIComponent(entity)}`;
  const opened = (name: string) => ({ name: `Open ${name}` });

  it('opens entity after entity by keyboard, with a list that says what is drawn', async () => {
    const { page, problems } = await visit('C', '/facts/graph');
    await page.getByRole('link', { name: 'billing' }).first().waitFor();
    await page.getByLabel('Entity').fill('billing');
    await page.keyboard.press('Enter');
    await page.getByText('3 entities and 3 relations are drawn.').waitFor();
    await page.getByRole('button', opened('Postgres')).focus();
    await page.keyboard.press('Enter');
    await page.getByText('4 entities and 4 relations are drawn.').waitFor();
    await page.getByRole('heading', { name: 'Postgres', level: 2 }).waitFor();
    await page
      .getByRole('list', { name: 'Relations of Postgres' })
      .getByRole('button', { name: 'db-1', exact: true })
      .waitFor();
    await page.reload();
    await page.getByText('4 entities and 4 relations are drawn.').waitFor();
    await page.goBack();
    await page.getByText('3 entities and 3 relations are drawn.').waitFor();
    expect(problems).toEqual([]);
  });

  it('opens an entity by a click on the drawing', async () => {
    await relate('C', 'the data centre of Frankfurt', 'houses', 'the database server number one');
    await relate('C', 'the database server number one', 'backs up to', 'tape');
    const { page } = await visit('C', around('the data centre of Frankfurt'));
    await page.getByText('2 entities and 1 relations are drawn.').waitFor();
    const { x, y, width, height } = (await page.locator('.drawing-canvas').boundingBox())!;
    // The layout chooses the place of an entity, so the mouse tries points until one opens the other entity.
    for (let down = 10; down < height && !page.url().includes('open='); down += 8) {
      for (const across of [0.35, 0.45, 0.55, 0.65]) await page.mouse.click(x + width * across, y + down);
    }
    await page.getByText('3 entities and 2 relations are drawn.').waitFor();
    expect(page.url()).toContain('open=the+database');
  });

  it('shows the memory behind a relation', async () => {
    const { page } = await visit('C', around('billing'));
    await page.getByRole('button', { name: 'Memories behind writes to Postgres' }).click();
    await page.getByRole('link', { name: 'billing writes to Postgres' }).click();
    await page.waitForURL(/\/memories\//);
  });

  it('finds an entity by another of its names', async () => {
    const { page } = await visit('C', around('pg'));
    await page.getByRole('list', { name: 'Relations of' }).getByRole('button', { name: 'db-1', exact: true }).waitFor();
    await page.getByText('3 entities and 3 relations are drawn.').waitFor();
  });

  it('says where nothing is known, and leads to the facts of an entity', async () => {
    const { page } = await visit('C', around('nobody'));
    await page.getByText('Nothing is known to be related to nobody').waitFor();
    await page.goto(`/console${around('billing')}`);
    await page.getByRole('link', { name: 'Its facts' }).click();
    await page.waitForURL(/\/facts\?subject=billing/);
  });

  itOnEmbedded('loads its libraries on no other page', async () => {
    const { page } = await visit('C', '/facts');
    const large: string[] = [];
    page.on('response', async (response) => {
      if (response.url().endsWith('.js') && (await response.text()).includes('WebGL')) large.push(response.url());
    });
    await page.getByRole('heading', { name: 'Facts & graph' }).waitFor();
    expect(large).toEqual([]);
    await page.getByRole('link', { name: 'Graph', exact: true }).click();
    await page.getByRole('heading', { name: 'Graph' }).waitFor();
    await eventually(() => large.length === 1);
  });

  it('shows C nothing of l-private, in the page and in all that the browser received', async () => {
    const { page, received } = await visit('C', around('billing'));
    await page.getByText('3 entities and 3 relations are drawn.').waitFor();
    await page.goto('/console/facts/graph');
    await page.getByRole('link', { name: 'billing' }).first().waitFor();
    expect(await received()).not.toContain(CANARY);
    const ofL = await visit('L', around('billing'));
    await ofL.page.getByText('4 entities and 4 relations are drawn.').waitFor();
  });

  itOnEmbedded('shows hostile names as text', async () => {
    for (const text of HOSTILE) await relate('C', 'hostile', 'names', text);
    const { page } = await visit('L', around('hostile'));
    await page.getByText(`${HOSTILE.length + 1} entities and ${HOSTILE.length} relations are drawn.`).waitFor();
    await page
      .getByRole('button', { name: /Memories behind/ })
      .first()
      .click();
    await page.locator('.evidence').waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await visit('L', around('billing'), { colorScheme, viewport: { width: 320, height: 700 } });
    await page.getByText(/entities and \d+ relations are drawn/).waitFor();
    await page.getByRole('button', { name: /Memories behind calls/ }).click();
    await page.locator('.evidence').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
