import type { Page } from 'playwright-core';
import { eventually } from '../../db/tests/support/eventually.ts';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { FIND_DEFAULTS, SEARCH_DEFAULTS } from '../src/pages/settings/weights.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

describeOnEmbeddedInBrowser('rankings and projects on the page Settings', () => {
  const own = useTestConsole({ embedder: standIn });
  const open = (part: string) => own.visit({ as: 'L', path: `/settings?part=${part}` });
  const first = (page: Page, title: string) => page.getByRole('region', { name: title }).getByRole('listitem').first();
  const settings = async (table: string) =>
    (await own.gateway.asSuperuser(`select to_jsonb(s) as row from public.${table} s`)).map(({ row }) => row);

  beforeAll(async () => {
    const save = (content: string, timestamp: string, projectId = 'shop') =>
      own.gateway.query('C', 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status } }', {
        input: { content, timestamp, projectId },
      });
    await save('harbour lights keeper', '2020-01-01T00:00:00Z');
    await save('Every evening somebody checks lights along the harbour, all of them.', new Date().toISOString());
    await save('Somewhere else.', new Date().toISOString(), 'garden');
    await own.gateway.embedded();
  });

  it('compares weights of memory_find without setting them, and keeps them with a half-life when told so', async () => {
    const { page, problems } = await open('finding');
    await page.getByRole('slider', { name: 'Newness' }).fill('0');
    await page.getByLabel('Try it on a query').fill('harbour lights keeper');
    await page.getByRole('button', { name: 'Compare' }).click();
    await first(page, 'Changed: harbour lights keeper').getByText('harbour lights keeper', { exact: true }).waitFor();
    await first(page, 'Now: harbour lights keeper').getByText('Every evening').waitFor();
    expect(await settings('find_settings')).toEqual([]);
    expect(await own.gateway.asSuperuser('select access_id from importance.memory_access_log')).toEqual([]);
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByLabel('decision', { exact: true }).fill('30');
    await page.getByLabel('Half-life of another kind').fill('recipe');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByLabel('recipe', { exact: true }).fill('7');
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByText('These weights hold').waitFor();
    expect(await settings('find_settings')).toMatchObject([
      { match_weight: 0.4, recency_weight: 0, half_life_days: { default: 90, decision: 30, recipe: 7, todo: 30 } },
    ]);
    expect(problems).toEqual([]);
  });

  it('keeps half-lives and languages of searches, and says at the field what is wrong', async () => {
    const { page } = await open('ranking');
    await page.getByLabel('all other kinds').fill('0');
    await page.getByText('From 0.01 to 36500 days.').waitFor();
    expect(await page.getByRole('button', { name: 'Keep' }).isDisabled()).toBe(true);
    await page.getByLabel('all other kinds').fill('20');
    await page.getByLabel('Languages').fill('german, klingon');
    await page.getByRole('button', { name: 'Keep' }).click();
    await page
      .locator('.problem')
      .getByText(/languages: must be 1 to 5 of/)
      .waitFor();
    expect(await page.getByLabel('Languages').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Languages').fill('german, english');
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByText('These weights hold').waitFor();
    expect(await settings('search_settings')).toMatchObject([
      { lexical_weight: 0.35, half_life_days: { default: 20 }, languages: ['german', 'english'] },
    ]);
  });

  it('begins with the defaults of the database', async () => {
    const [{ search, find }] = await own.gateway.asSuperuser(
      'select to_jsonb(search.default_settings()) as search, to_jsonb(find.default_settings()) as find',
    );
    const camel = (row: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]),
      );
    for (const [row, { weights, ...others }] of [
      [search, SEARCH_DEFAULTS],
      [find, FIND_DEFAULTS],
    ] as const)
      expect(camel(row)).toMatchObject({ ...weights, ...others });
  });

  it('gives a project a key, a rule and a caller, and shows what it has', async () => {
    const { page, problems } = await open('projects');
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    await row('shop').getByRole('link', { name: 'shop' }).click();
    await page.getByText('note 2').waitFor();
    const part = (name: string) => page.getByRole('region', { name, exact: true });
    await part('Keys').getByRole('button', { name: 'New key' }).click();
    expect(await page.getByLabel('Only these projects').inputValue()).toBe('shop');
    await page.getByLabel('Caller', { exact: true }).selectOption('C');
    await page.getByLabel('What it is for (required)').fill('till');
    await page.getByRole('button', { name: 'Make the key' }).click();
    const key = await page.getByRole('dialog', { name: 'The new key' }).locator('code').innerText();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row('till').getByText('shop').waitFor();
    await part('Rules of review').getByRole('button', { name: 'New rule' }).click();
    await page.getByRole('dialog').getByLabel('Kinds').fill('decision');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await row('of kind decision in project shop').getByText('waits for a review').waitFor();
    await row('C').getByRole('button', { name: 'Make it the default' }).click();
    await row('C').getByRole('button', { name: 'Remove the default' }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    const asKey = async (query: string) => {
      const response = await fetch(`${own.gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ query }),
      });
      return JSON.stringify(await response.json());
    };
    // On a busy machine the first request of a key can take longer than a request may.
    await eventually(async () => (await asKey('{ whoAmI { projects } }')).includes('["shop"]'));
    expect(await asKey('{ memories { nodes { content } } }')).not.toContain('Somewhere else');

    await row('till').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No key is limited to it.').waitFor();
    await row('in project shop').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No rule names it.').waitFor();
    await page.getByRole('button', { name: 'All projects' }).click();
    await row('garden').waitFor();
    expect(problems).toEqual([]);
  });

  it('names a project before anything is saved in it', async () => {
    const { page } = await open('projects');
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByLabel('Name (required)').fill('no name');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('1 to 200 letters').waitFor();
    await page.getByLabel('Name (required)').fill('acme/billing');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('region', { name: 'acme/billing' }).getByText('Memories', { exact: true }).waitFor();
    expect(page.url()).toContain('project=acme');
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const viewport = { width: 320, height: 700 };
    for (const part of ['ranking', 'finding', 'projects', 'projects&project=shop']) {
      const { page } = await own.visit({ as: 'L', path: `/settings?part=${part}`, colorScheme, viewport });
      await page.getByRole('main').getByRole('heading', { level: 2 }).first().waitFor();
      await eventually(async () => (await page.locator('.loading').count()) === 0);
      expect(await seriousViolations(page), part).toEqual([]);
      expect(await overflowOf(page), part).toBe(0);
    }
  });
});
