import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { readOnlyKey } from './support/callers.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeInBrowser } from './support/in-browser.ts';

const CANARY = 'canary-of-l-private';

describeInBrowser('the page of searches', () => {
  const own = useTestConsole();
  let reader: string;
  beforeAll(async () => {
    const { gateway } = own;
    await gateway.save('C', 'We deploy on Tuesdays, never on Fridays.', { kind: 'rule', tags: ['release'] });
    await gateway.save('C', 'Pancakes need two eggs and some flour.');
    await gateway.save('L', `We deploy at noon: ${CANARY}`, { scope: 'l-private' });
    reader = await readOnlyKey(gateway);
    await gateway.embedded();
  });
  const ask = '/search?q=which+day+do+we+deploy';

  it('finds a memory, says how it was scored, and keeps the question in the address', async () => {
    const { page, problems } = await own.visit({ as: 'C' });
    await page.getByRole('heading', { name: 'Search' }).waitFor();
    await page.getByRole('searchbox').fill('which day do we deploy');
    await page.keyboard.press('Enter');
    const hit = page.locator('.hit').filter({ hasText: 'Tuesdays' });
    await hit.getByRole('button', { name: 'Why' }).click();
    for (const part of ['Words', 'Meaning', 'Context', 'Thread', 'Recency', 'Importance', 'Score']) {
      await hit.getByRole('term').getByText(part, { exact: true }).waitFor();
    }
    await hit.getByText(/Found by .*meaning/).waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('which day do we deploy');
    expect(await seriousViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('shows what is nearest where nothing matched well, says what it left out and why, and shows it when asked', async () => {
    const { page } = await own.visit({ as: 'C', path: '/search?q=boundary+layer+of+a+hypersonic+wing' });
    await page.getByText('Nothing matched well; nearest:').waitFor();
    await page.locator('.nearest a').filter({ hasText: 'Pancakes' }).waitFor();
    await page.getByText(/left out: relevance below/).waitFor();
    await page.getByRole('button', { name: 'Show them' }).click();
    await page.locator('.hit').filter({ hasText: 'Pancakes' }).waitFor();
  });

  it('narrows by kind and tags, and lists the newest without a question', async () => {
    const { page } = await own.visit({ as: 'C', path: '/search?tags=release' });
    await page.locator('.hit').filter({ hasText: 'Tuesdays' }).waitFor();
    expect(await page.locator('.hit').count()).toBe(1);
    await page.getByLabel('Kinds').fill('note');
    await page.getByText('Nothing has to do with it').waitFor();
  });

  it('searches as of a time', async () => {
    const { page } = await own.visit({ as: 'C', path: `${ask}&asof=2020-01-01T00:00:00Z` });
    await page.getByText('Nothing has to do with it').waitFor();
    await page.getByText(/as of 1 Jan 2020/).waitFor();
  });

  it('takes feedback, corrects and deletes', async () => {
    const id = await own.gateway.save('C', 'Unicorns graze in the atrium.');
    const { page } = await own.visit({ as: 'C', path: '/search?q=unicorns+graze' });
    const hit = page.locator('.hit').filter({ hasText: 'atrium' });
    await hit.getByRole('button', { name: 'Useful', exact: true }).click();
    await page.getByText(/Thanks/).waitFor();
    const [{ was_useful: wasUseful }] = await own.gateway.sql(
      'L',
      `select was_useful from public.memory_access_log where target_id = '${id}' and was_useful is not null`,
    );
    expect(wasUseful).toBe(true);

    await hit.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByLabel('Text').fill('Unicorns graze on the roof.');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const changed = page.locator('.hit').filter({ hasText: 'roof' });
    await changed.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await changed.waitFor({ state: 'detached' });
  });

  it('saves what was not found', async () => {
    const { page } = await own.visit({ as: 'C', path: '/search?q=the+wifi+password+is+on+the+fridge' });
    await page.getByRole('button', { name: 'New memory' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Project').fill('l9');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: /on the fridge/ }).waitFor();
  });

  it('shows C nothing of l-private, in the page and in all that the browser received', async () => {
    const { page, received } = await own.visit({ as: 'C', path: `${ask}&all=yes` });
    await page.locator('.hit').first().waitFor();
    expect(await received()).not.toContain(CANARY);
  });

  itOnEmbedded('offers a read-only key neither feedback nor a change', async () => {
    const { page } = await own.visit({ as: { token: reader }, path: ask });
    await page.locator('.hit').first().waitFor();
    expect(await page.getByRole('button', { name: /useful|Edit|Delete|New memory/i }).count()).toBe(0);
  });

  itOnEmbedded('reads a search once, also when the person comes back to it', async () => {
    const { page } = await own.visit({ as: 'C', path: ask });
    await page.locator('.hit a').first().click();
    await page.getByRole('tab', { name: 'Text' }).waitFor();
    let searches = 0;
    page.on('request', (request) => {
      if (request.postData()?.includes('searchMemory')) searches += 1;
    });
    await page.goBack();
    await page.locator('.hit').first().waitFor();
    expect(searches).toBe(0);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await own.visit({ as: 'L', path: ask, colorScheme, viewport: { width: 320, height: 700 } });
    await page.getByRole('button', { name: 'Why' }).first().click();
    await page.getByText('Filters').click();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });

  itOnEmbedded('shows hostile memories as text', async () => {
    for (const text of HOSTILE) await own.gateway.save('C', `hostilefind ${text}`, { project_id: 'hostile' });
    const { page } = await own.visit({ as: 'C', path: '/search?q=hostilefind&project=hostile&mode=lexical&all=yes' });
    await page
      .locator('.hit')
      .nth(HOSTILE.length - 1)
      .waitFor();
    expect(await page.locator('.hits').innerText()).toContain(HOSTILE[0]);
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });
});
