import { readFileSync } from 'node:fs';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { readOnlyKey } from './support/callers.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const STORE = `mutation ($items: [MemoryStoreItem!]!) { memoryStore(input: { items: $items }) { errors { message } } }`;
const CANARY = 'canary-of-l-private';

describeOnEmbeddedInBrowser('the page of memories', () => {
  const own = useTestConsole();
  let reader: string;
  beforeAll(async () => {
    const { gateway } = own;
    const items = Array.from({ length: 60 }, (_, index) => ({
      projectId: 'shop',
      kind: index % 2 === 0 ? 'note' : 'rule',
      data: { content: `Numbered memory ${String(index).padStart(2, '0')}` },
    }));
    await gateway.query('C', STORE, { items });
    await gateway.save('L', `A secret of L: ${CANARY}`, { scope: 'l-private' });
    reader = await readOnlyKey(gateway);
  });
  const row = (text: string) => ({ name: new RegExp(text) });

  it('lists the newest first, page by page, and the address keeps the page', async () => {
    const { page, problems } = await own.visit({ as: 'C', path: '/memories' });
    await page.getByRole('row', row('Numbered memory 59')).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(50);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('row', row('Numbered memory 00')).waitFor();
    expect(page.url()).toContain('after=');
    await page.reload();
    await page.getByRole('row', row('Numbered memory 00')).waitFor();
    await page.goBack();
    await page.getByRole('row', row('Numbered memory 59')).waitFor();
    expect(problems).toEqual([]);
  });

  itOnEmbedded('filters by kind, scope and project, and says where nothing matches', async () => {
    const { page } = await own.visit({ as: 'C', path: '/memories' });
    await page
      .getByRole('textbox', { name: 'Kind' })
      .or(page.getByRole('combobox', { name: 'Kind' }))
      .fill('rule');
    // On a slow machine the list may not be there yet, and nothing is detached from it.
    await page.waitForURL(/kind=rule/);
    await page.getByRole('row', row('Numbered memory 58')).waitFor({ state: 'detached' });
    await page.getByRole('row', row('Numbered memory 57')).waitFor();
    expect(page.url()).toContain('kind=rule');
    await page.getByRole('textbox', { name: 'Project' }).fill('no-such-project');
    await page.getByText('No memory matches').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('row', row('Numbered memory 58')).waitFor();
  });

  it('saves a memory with the fields of its kind, and says which one is wrong', async () => {
    const { page } = await own.visit({ as: 'C', path: '/memories' });
    await page.getByRole('button', { name: 'New memory' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Kind').fill('decision');
    await dialog.getByLabel('Title').fill('One queue for all jobs');
    await dialog.getByLabel('Status').selectOption('accepted');
    await dialog.getByLabel('Project').fill('shop');
    expect(await seriousViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(/rationale: /).waitFor();
    await dialog.getByLabel('Rationale').fill('Two queues starved each other.');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'One queue for all jobs' }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/memories\/[0-9a-f-]{36}$/);
  });

  it('tags, moves, exports and deletes what is selected', async () => {
    const texts = ['First to select', 'Second to select'];
    for (const text of texts) await own.gateway.save('C', text, { project_id: 'selected' });
    const { page } = await own.visit({ as: 'C', path: '/memories?project=selected', acceptDownloads: true });
    await page.getByRole('row', row(texts[0]!)).waitFor();
    const selectAll = () => page.getByLabel('Select all rows of this page').check();

    await selectAll();
    await page.getByRole('button', { name: 'Tag' }).click();
    await page.getByRole('dialog').getByLabel('Tags').fill('new-tag, other');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('2 memories tagged').waitFor();
    await page.getByText('new-tag').nth(1).waitFor();

    await selectAll();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ content }) => content).sort()).toEqual(texts);
    expect(lines[0]).toMatchObject({
      kind: 'note',
      scope: 'developer',
      project_id: 'selected',
      tags: ['new-tag', 'other'],
    });

    await page.getByRole('button', { name: 'Move' }).click();
    await page.getByRole('dialog').getByLabel('Project').fill('elsewhere');
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
    await page.getByText('2 memories moved').waitFor();
    await page.getByText('No memory matches').waitFor();

    await page.goto('/console/memories?project=elsewhere');
    await page.getByRole('row', row(texts[0]!)).waitFor();
    await selectAll();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('2 memories deleted').waitFor();
    await page.getByText('No memory matches').waitFor();
  });

  it('says what was refused, and does the rest', async () => {
    await own.gateway.save('L', 'A memory of L for everyone', { project_id: 'mixed' });
    await own.gateway.save('C', 'A memory of C', { project_id: 'mixed' });
    const { page } = await own.visit({ as: 'C', path: '/memories?project=mixed' });
    await page.getByLabel('Select all rows of this page').check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('2 of 2, 1 refused').waitFor();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('row', row('A memory of C')).waitFor({ state: 'detached' });
    await page.getByRole('row', row('A memory of L')).waitFor();
  });

  it('says how many are new, and shows them when asked', async () => {
    const { page } = await own.visit({ as: 'C', path: '/memories?project=growing' });
    await page.getByText('No memory matches').waitFor();
    await page.clock.install();
    await page.reload();
    await page.getByText('No memory matches').waitFor();
    await own.gateway.save('C', 'Saved while the page was open', { project_id: 'growing' });
    await page.clock.runFor(16_000);
    await page.getByRole('button', { name: '1 new – show' }).click();
    await page.getByRole('row', row('Saved while the page was open')).waitFor();
    await page.getByRole('button', { name: '1 new – show' }).waitFor({ state: 'detached' });
  });

  it('shows C nothing of l-private, in the page and in all that the browser received', async () => {
    const { page, received } = await own.visit({ as: 'C', path: '/memories?scope=l-private' });
    await page.getByText('No memory matches').waitFor();
    await page.goto('/console/memories');
    await page.getByRole('row', row('Numbered memory')).first().waitFor();
    expect(await received()).not.toContain(CANARY);
  });

  itOnEmbedded('offers no change to a read-only key', async () => {
    const { page } = await own.visit({ as: { token: reader }, path: '/memories' });
    await page.getByText('read-only').waitFor();
    await page.getByRole('row', row('Numbered memory')).first().waitFor();
    expect(await page.getByRole('button', { name: 'New memory' }).count()).toBe(0);
    await page.getByLabel('Select all rows of this page').check();
    await page.getByRole('button', { name: 'Export' }).waitFor();
    expect(await page.getByRole('button', { name: /^(Tag|Move|Delete)$/ }).count()).toBe(0);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await own.visit({
      as: 'L',
      path: '/memories',
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    await page.locator('tbody tr').first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });

  itOnEmbedded('shows hostile memories as text', async () => {
    for (const [index, text] of HOSTILE.entries())
      await own.gateway.save('C', `${text} ${index}`, { project_id: 'hostile', tags: ['<i>'] });
    const { page } = await own.visit({ as: 'L', path: '/memories?project=hostile' });
    for (const text of HOSTILE) await page.getByText(text, { exact: false }).first().waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });
});
