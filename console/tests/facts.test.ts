import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { readOnlyKey } from './support/callers.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const CANARY = 'canary-of-l-private';
const ASSERT = 'mutation ($fact: AssertFactInput!) { assertFact(input: $fact) { fact { factId } } }';

describeOnEmbeddedInBrowser('the page of facts', () => {
  const own = useTestConsole();
  const state = (caller: string, subject: string, predicate: string, object: unknown, more: object = {}) =>
    own.gateway.query(caller, ASSERT, { fact: { subject, predicate, object, projectId: 'l9', ...more } });
  let reader: string;
  beforeAll(async () => {
    await own.gateway.query(
      'L',
      'mutation { admin { registerPredicate(predicate: "deploys on", isSingleValued: true, description: "a day") { predicate } } }',
    );
    await state('C', 'billing', 'deploys on', 'Monday', { validFrom: '2026-03-01T12:00:00Z' });
    await state('C', 'billing', 'deploys on', 'Tuesday', { validFrom: '2026-06-01T12:00:00Z' });
    await state('L', 'billing', 'deploys on', 'Thursday', { validFrom: '2026-09-01T12:00:00Z' });
    await state('C', 'billing', 'deploys on', 'Friday', { validFrom: '2026-10-01T12:00:00Z' });
    await state('C', 'billing', 'runs on', { name: 'kubernetes', nodes: 3 }, { validFrom: '2026-01-01T12:00:00Z' });
    await state('L', 'billing', 'is sold to', CANARY, { scope: 'l-private' });
    reader = await readOnlyKey(own.gateway);
  });
  const held = 'What holds';
  const fact = (text: string) => ({ name: new RegExp(text) });

  it('finds a subject, and shows what held on a date and what it replaced', async () => {
    const { page, problems } = await own.visit({ as: 'C', path: '/facts' });
    await page.getByRole('link', { name: 'billing' }).first().waitFor();
    await page.getByLabel('Subject').fill('Billing');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    const now = page.getByRole('region', { name: `${held} now` });
    await now.getByRole('row', fact('deploys on Thursday')).waitFor();
    expect(await now.getByRole('row', fact('Friday')).count()).toBe(0);

    await page.getByRole('slider', { name: 'Date' }).focus();
    for (let step = 0; step < 3; step += 1) await page.keyboard.press('PageDown');
    await page.getByRole('region', { name: `${held} on` }).waitFor();
    expect(page.url()).toContain('at=2026-');
    await page.goto('/console/facts?subject=billing&at=2026-07-01T12:00:00.000Z');
    const then = page.getByRole('region', { name: `${held} on 1 Jul 2026` });
    await then.getByRole('row', fact('deploys on Tuesday instead of Monday')).waitFor();
    await page.getByRole('button', { name: 'Later change' }).click();
    await page
      .getByRole('region', { name: `${held} on 1 Sept 2026` })
      .getByRole('row', fact('Thursday'))
      .waitFor();
    expect(problems).toEqual([]);
  });

  it('shows facts as they were known on the date', async () => {
    const { page } = await own.visit({ as: 'C', path: '/facts?subject=billing&at=2026-07-01T12:00:00.000Z' });
    await page.getByRole('row', fact('deploys on Tuesday')).first().waitFor();
    await page.getByLabel(/As it was known on that date/).check();
    await page.getByText('Nothing held then').waitFor();
  });

  it('says what was superseded or outranked by what', async () => {
    const { page } = await own.visit({ as: 'C', path: '/facts?list=superseded' });
    await page.getByRole('row', fact('billing deploys on Friday outranked Thursday')).waitFor();
    await page.getByRole('row', fact('billing deploys on Monday superseded Tuesday')).waitFor();
    await page.goto('/console/facts?subject=billing');
    await page
      .getByRole('region', { name: 'All statements' })
      .getByRole('row', fact('Friday outranked Thursday never'))
      .waitFor();
  });

  it('leads to the memory behind a fact, and back', async () => {
    const { page } = await own.visit({ as: 'C', path: '/facts?subject=billing' });
    await page.getByRole('button', fact('deploys on Tuesday, superseded')).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('One statement').waitFor();
    await dialog.getByText('Cursor-IDE').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await dialog.getByRole('link', { name: 'Thursday' }).click();
    await dialog.getByText('administrator').waitFor();
    await page.goBack();
    await dialog.getByRole('link', { name: 'billing deploys on: Tuesday' }).click();
    await page.waitForURL(/\/memories\//);
  });

  it('retracts a fact with a reason, upon which the one before holds again', async () => {
    await state('C', 'search', 'deploys on', 'Monday', { validFrom: '2026-03-01T12:00:00Z' });
    await state('C', 'search', 'deploys on', 'Sunday', { validFrom: '2026-06-01T12:00:00Z' });
    const { page } = await own.visit({ as: 'C', path: '/facts?subject=search' });
    await page.getByRole('button', fact('deploys on Sunday, holds')).click();
    await page.getByRole('button', { name: 'Retract…' }).click();
    await page.getByLabel('Why it is wrong').fill('It was a joke.');
    await page.getByRole('button', { name: 'Retract the fact' }).click();
    await page.getByRole('dialog').getByText('It was a joke.').waitFor();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page
      .getByRole('region', { name: `${held} now` })
      .getByRole('row', fact('Monday'))
      .waitFor();
    await page.getByRole('row', fact('Sunday retracted It was a joke')).waitFor();
  });

  itOnEmbedded('offers no change to a read-only key', async () => {
    const { page } = await own.visit({ as: { token: reader }, path: '/facts?subject=billing' });
    await page.getByRole('button', fact('deploys on Tuesday, superseded')).click();
    await page.getByRole('dialog').getByText('One statement').waitFor();
    expect(await page.getByRole('button', { name: 'Retract…' }).count()).toBe(0);
  });

  it('shows C nothing of l-private, in the page and in all that the browser received', async () => {
    const { page, received } = await own.visit({ as: 'C', path: '/facts' });
    await page.getByRole('link', { name: 'billing' }).first().waitFor();
    await page.goto('/console/facts?subject=billing');
    await page.getByRole('row', fact('deploys on Thursday')).first().waitFor();
    expect(await received()).not.toContain(CANARY);
    const ofL = await own.visit({ as: 'L', path: '/facts?subject=billing' });
    await ofL.page.getByText(CANARY).first().waitFor();
  });

  itOnEmbedded('shows hostile facts as text', async () => {
    for (const text of HOSTILE) await state('C', 'hostile', text.slice(0, 60), text);
    const { page } = await own.visit({ as: 'L', path: '/facts?subject=hostile' });
    for (const text of HOSTILE) await page.getByText(text, { exact: false }).first().waitFor();
    await page.getByRole('button', fact('evidence')).first().click();
    await page.getByRole('dialog').getByText('One statement').waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await own.visit({ as: 'L', colorScheme, viewport: { width: 320, height: 700 }, path: '/facts' });
    await page.locator('tbody tr').first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await page.goto('/console/facts?subject=billing');
    await page.getByRole('region', { name: 'All statements' }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
