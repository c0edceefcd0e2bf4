import type { Page } from 'playwright-core';
import { eventually } from '../../db/tests/support/eventually.ts';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

/** The button that opens the form, what is typed into it, and the field that the database refuses. */
const REFUSED: readonly [part: string, opens: string, typed: Record<string, string>, field: string, says: RegExp][] = [
  ['callers', 'New caller', { Name: 'not a name' }, 'Name', /caller: 1 to 63/],
  ['callers', 'New caller', { Name: 'a', 'Scopes it reads': 'nowhere' }, 'Scopes it reads', /nowhere/],
  ['callers', 'New caller', { Name: 'a', Reads: '0' }, 'Reads', /1/],
  ['keys', 'New key', { 'What it is for': 'x', 'Only these projects': 'no!' }, 'Only these projects', /projects: each/],
  ['keys', 'New key', { 'What it is for': 'x', 'Only these tool sets': 'no' }, 'Only these tool sets', /one of/],
  ['keys', 'New key', { 'What it is for': 'x', Expires: '2020-01-01T10:00' }, 'Expires', /future/],
  ['scopes', 'New scope', { Name: 'Not A Name' }, 'Name', /scope: 1 to 63/],
  ['kinds', 'New kind', { Name: 'lead', 'What it is for': 'x', Field: 'Not a name' }, 'Field', /lower-case/],
  ['kinds', 'New kind', { Name: 'note', 'What it is for': 'x' }, 'Name', /built-in/],
  ['review', 'New rule', { Kinds: 'Not-A-Kind' }, 'Kinds', /kinds: each/],
  ['review', 'New rule', { Project: 'no!' }, 'Project', /200 letters/],
  ['secrets', 'New pattern', { Name: 'a', 'What it finds': 'b', 'Regular expression': '(' }, 'Regular expression', /./],
  ['secrets', 'New exception', { 'Regular expression': '(', Why: 'x' }, 'Regular expression', /./],
];

describeOnEmbeddedInBrowser('the forms of the page Settings', () => {
  const own = useTestConsole({ embedder: standIn });
  const open = (part: string, as: string | { token: string } = 'L') =>
    own.visit({ as, path: `/settings?part=${part}` });
  const dialog = (page: Page) => page.getByRole('dialog');
  const labelled = (page: Page, name: string) => dialog(page).getByLabel(new RegExp(`^${name}( \\(required\\))?$`));
  const send = (page: Page) => dialog(page).locator('button[type=submit]').click();
  /** The label of the field that is marked as wrong, and what describes it; once there is one. */
  const wrong = async (page: Page) => {
    const field = dialog(page).locator('[aria-invalid=true]');
    await field.first().waitFor();
    return (await field.evaluateAll((all) =>
      (all as unknown as { id: string; getAttribute(name: string): string; ownerDocument: never }[]).map((one) => {
        const page = one.ownerDocument as { querySelector(path: string): { textContent: string } };
        const text = (path: string) => page.querySelector(path).textContent;
        const about = one.getAttribute('aria-describedby').split(' ');
        return [text(`label[for="${one.id}"]`).replace(' (required)', ''), text(`[id="${about[0]}"]`)];
      }),
    )) as [string, string][];
  };
  const focused = (page: Page) => page.evaluate('document.activeElement.name') as Promise<string>;

  it.each(REFUSED)('shows in %s, %s, what is wrong beside the field: %j', async (part, opens, typed, field, says) => {
    const { page, problems } = await open(part);
    await page.getByRole('button', { name: opens }).click();
    for (const [name, value] of Object.entries(typed)) await labelled(page, name).first().fill(value);
    await send(page);
    expect(await wrong(page)).toEqual([[field, expect.stringMatching(says)]]);
    expect(await dialog(page).locator('.failure').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('asks for what is required with the focus on it, by keyboard alone', async () => {
    const { page } = await open('scopes');
    await page.getByRole('button', { name: 'New scope' }).focus();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.press('Enter');
    expect(await wrong(page)).toEqual([['Name', 'Please fill this in.']]);
    await eventually(async () => (await focused(page)) === 'scope');
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.getByText('typed is added').waitFor();
    expect(await dialog(page).count()).toBe(0);
  });

  it('is busy while a form is sent, and sends it once', async () => {
    const { page } = await open('scopes');
    let sent = 0;
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('RegisterScope')) {
        sent += 1;
        await held;
      }
      await route.continue();
    });
    await page.getByRole('button', { name: 'New scope' }).click();
    await labelled(page, 'Name').fill('once');
    await page.keyboard.press('Enter');
    await dialog(page).locator('button[aria-busy=true]').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    answer();
    await page.getByText('once is added').waitFor();
    expect(sent).toBe(1);
  });

  it('registers a kind with title and expiry, and a change keeps the rules that the form does not show', async () => {
    await own.gateway.query(
      'L',
      `mutation ($fields: JSON) { admin { registerMemoryKind(
        kind: "contract", purpose: "A contract.", fields: $fields, titleField: "customer", textFields: ["terms", "customer"]
        identityFields: ["number"], lockedWhen: { status: ["signed"] }, allowedWhenLocked: { status: ["ended"] }
        whenLocked: "store a new one", archivedFrom: "ended_at", archivedAfter: "1 year"
      ) { kind } } }`,
      {
        fields: [
          { field: 'number', is_required: true, max_length: 20, meaning: 'Its number.' },
          { field: 'customer', is_required: true, meaning: 'Who it is with.' },
          { field: 'terms', meaning: 'What was agreed.' },
          { field: 'status', choices: ['signed', 'ended'], meaning: 'Where it stands.' },
          { field: 'steps', type: 'object[]', parts: [{ field: 'text' }], meaning: 'What to do.' },
          { field: 'ended_at', type: 'date', meaning: 'When it ended.' },
        ],
      },
    );
    const rules = async (kind: string) =>
      (await own.gateway.asSuperuser('select rules, purpose from public.memory_kinds where kind = $1', [kind]))[0];
    const before = (await rules('contract')) as { rules: Record<string, unknown> };
    const { page } = await open('kinds');
    const contract = page.getByRole('row').filter({ hasText: 'contract' });
    await contract.getByText('archived 1 year after ended_at').waitFor();
    await contract.getByRole('button', { name: 'Change' }).click();
    await labelled(page, 'What it is for').fill('A contract with a customer.');
    await dialog(page).getByLabel('Expires after').selectOption('ended_at');
    await dialog(page).getByLabel('Expires how long after').fill('soon');
    await send(page);
    expect(await wrong(page)).toEqual([['Expires how long after', expect.stringMatching(/90 days/)]]);
    await dialog(page).getByLabel('Expires how long after').fill('2 years');
    await send(page);
    await contract.getByText('expires 2 years after ended_at').waitFor();
    expect(await rules('contract')).toEqual({
      purpose: 'A contract with a customer.',
      rules: { ...before.rules, expires: { from: 'ended_at', seconds: 2 * 365.25 * 86_400 } },
    });

    await page.getByRole('button', { name: 'New kind' }).click();
    await labelled(page, 'Name').fill('visit');
    await labelled(page, 'What it is for').fill('A visit.');
    await labelled(page, 'Field').first().fill('place');
    await dialog(page).getByRole('button', { name: 'One more field' }).click();
    await labelled(page, 'Field').nth(1).fill('left_at');
    await dialog(page).getByLabel('Type').nth(1).selectOption('date');
    await dialog(page).getByLabel('Title').selectOption('place');
    await dialog(page).getByLabel('Expires after').selectOption('left_at');
    await send(page);
    expect(await wrong(page)).toEqual([['Expires how long after', expect.stringMatching(/together/)]]);
    await dialog(page).getByLabel('Expires how long after').fill('30 days');
    await send(page);
    await page.getByRole('row').filter({ hasText: 'visit' }).getByText('expires 30 days after left_at').waitFor();
    expect(await rules('visit')).toMatchObject({
      rules: { title: 'place', expires: { from: 'left_at', seconds: 30 * 86_400 }, order: ['place', 'left_at'] },
    });
  });

  it('shows every setting to a key that can write nothing, and lets it change none', async () => {
    const { admin } = await own.gateway.query(
      'L',
      'mutation { admin { registerActor(caller: "auditor", role: "l9_admin", readableScopes: ["*"], writableScopes: []) { caller } createApiKey(caller: "auditor", name: "auditor") { apiKey } } }',
    );
    await own.gateway.save('C', 'A project has a memory.');
    for (const part of ['secrets', 'archive', 'review', 'ranking', 'kinds', 'projects']) {
      const { page } = await open(part, { token: admin.createApiKey.apiKey });
      await page.getByRole('main').locator('.list, input, select').first().waitFor();
      await eventually(async () => (await page.locator('.loading').count()) === 0);
      expect(await page.getByRole('main').locator(':is(input, select):enabled').count(), part).toBe(0);
      const buttons = page.getByRole('main').getByRole('button', { name: /New|Change|Switch|Keep|Delete/ });
      expect(await buttons.count(), part).toBe(0);
    }
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    for (const [opens, part] of new Map(REFUSED.map(([part, opens]) => [opens, part]))) {
      const { page } = await own.visit({
        as: 'L',
        path: `/settings?part=${part}`,
        colorScheme,
        viewport: { width: 320, height: 700 },
      });
      await page.getByRole('button', { name: opens }).click();
      await dialog(page).locator('input').first().waitFor();
      expect(await seriousViolations(page), opens).toEqual([]);
      expect(await overflowOf(page), opens).toBe(0);
      const wide = 'document.querySelector("dialog").scrollWidth - document.querySelector("dialog").clientWidth';
      expect(await page.evaluate(wide), opens).toBe(0);
    }
  });
});
