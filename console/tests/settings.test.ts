import type { Page } from 'playwright-core';
import { eventually } from '../../db/tests/support/eventually.ts';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const PARTS = ['Callers', 'Keys', 'Scopes', 'Projects', 'Kinds', 'Ranking', 'Review', 'Secrets', 'Archive'];
const HOSTILE = `<img src=x onerror="document.title='broken'">`;

describeOnEmbeddedInBrowser('the page Settings', () => {
  const own = useTestConsole({ embedder: standIn });
  const open = (part: string, as: string | { token: string } = 'L') =>
    own.visit({ as, path: `/settings?part=${part}` });
  const row = (page: Page, table: string, text: string) =>
    page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });
  const graphqlWith = async (key: string) => {
    const response = await fetch(`${own.gateway.instance.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query: '{ whoAmI { caller } }' }),
    });
    return (await response.json()) as { data?: { whoAmI: { caller: string } } };
  };

  beforeAll(async () => {
    await own.gateway.save('C', 'The harbour lights are checked every evening.');
    await own.gateway.save('C', 'The harbour is closed in fog.');
    await own.gateway.embedded();
  });

  it('registers a caller, makes a key that is shown once, and revokes it', async () => {
    const { page, problems } = await open('callers');
    await page.getByRole('button', { name: 'New caller' }).click();
    await page.getByLabel('Name (required)').fill('claude-code');
    await page.getByRole('button', { name: 'Register' }).click();
    await row(page, 'Callers', 'claude-code').getByText('developer, global').first().waitFor();

    await page.getByRole('tab', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Caller', { exact: true }).selectOption('claude-code');
    await page.getByLabel('What it is for (required)').fill('canary of Anna');
    await page.getByRole('button', { name: 'Make the key' }).click();
    const key = await page.getByRole('dialog', { name: 'The new key' }).locator('code').innerText();
    expect((await graphqlWith(key)).data?.whoAmI.caller).toBe('claude-code');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row(page, 'Keys', 'canary of Anna').getByText('valid').waitFor();
    expect(await page.content()).not.toContain(key);

    await row(page, 'Keys', 'canary of Anna').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row(page, 'Keys', 'canary of Anna').getByText('revoked', { exact: true }).waitFor();
    expect((await graphqlWith(key)).data?.whoAmI).toBeUndefined();
    expect(problems).toEqual([]);
  });

  it('says at the field what is wrong with it, and switches a caller off', async () => {
    const { page } = await open('callers');
    await page.getByRole('button', { name: 'New caller' }).click();
    await page.getByLabel('Name (required)').fill('reader');
    await page.getByLabel('Scopes it reads').fill('nowhere');
    await page.getByRole('button', { name: 'Register' }).click();
    await page
      .getByRole('dialog')
      .locator('.problem, .failure')
      .getByText(/nowhere|scope/)
      .first()
      .waitFor();
    await page.getByLabel('Scopes it reads').fill('global');
    await page.getByLabel('Scopes it writes').fill('');
    await page.getByRole('button', { name: 'Register' }).click();
    await row(page, 'Callers', 'reader').getByRole('button', { name: 'Switch off' }).click();
    await row(page, 'Callers', 'reader').getByText('switched off').waitFor();
  });

  it('adds a scope, a kind and a rule of review', async () => {
    const { page } = await open('scopes');
    await page.getByRole('button', { name: 'New scope' }).click();
    await page.getByLabel('Name (required)').fill('design');
    await page.getByLabel('What it is for').fill(HOSTILE);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await row(page, 'Scopes', 'design').getByText('<img src=x').waitFor();
    expect(await page.title()).not.toContain('broken');

    await page.getByRole('tab', { name: 'Kinds' }).click();
    await page.getByRole('button', { name: 'New kind' }).click();
    await page.getByLabel('Name (required)').fill('lead');
    await page.getByLabel('What it is for').fill('Somebody who may become a customer.');
    await page.getByLabel('Field', { exact: true }).fill('company');
    await page.getByLabel('Meaning').fill('Where the person works.');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await row(page, 'Kinds', 'lead').getByText('yours').waitFor();

    await page.getByRole('tab', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByRole('dialog').getByLabel('Caller').selectOption('C');
    await page.getByRole('dialog').getByLabel('Scope').selectOption('global');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await row(page, 'Rules of review', 'what C saves in global').getByText('waits for a review').waitFor();
    const saved = await own.gateway.query(
      'C',
      'mutation { saveMemory(input: { content: "For all.", scope: "global" }) { memory { reviewState } } }',
    );
    expect(saved.saveMemory.memory.reviewState).toBe('pending');
    await row(page, 'Rules of review', 'what C saves in global').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Nothing needs a review').waitFor();
  });

  it('compares weights on a query without setting them, and keeps them when told so', async () => {
    const rows = () => own.gateway.asSuperuser('select to_jsonb(s) as row from public.search_settings s');
    const audited = () =>
      own.gateway.asSuperuser(
        "select operation from public.audit_log where table_name = 'search_settings' and operation <> 'READ'",
      );
    const accesses = () => own.gateway.asSuperuser('select access_id from importance.memory_access_log');
    const weight = async () =>
      (await own.gateway.query('L', '{ admin { searchSettings { lexicalWeight } } }')).admin.searchSettings[0]
        .lexicalWeight;
    const before = [await rows(), await audited(), await accesses()];
    expect(before[0]).toEqual([]);
    const { page } = await open('ranking');
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/graphql')) sent.push(request.postData() ?? '');
    });
    await page.getByRole('slider', { name: 'Words', exact: true }).fill('0.9');
    await page.getByLabel('Try it on a query').fill('harbour lights');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('region', { name: 'Changed: harbour lights' }).getByText('every evening').waitFor();
    await page.getByRole('region', { name: 'Now: harbour lights' }).getByText('every evening').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    // No row of settings was written and then taken back, either: that would have left audit rows.
    expect(sent.filter((body) => body.includes('mutation'))).toEqual([]);
    expect(sent.filter((body) => body.includes('"lexical_weight":0.9'))).toHaveLength(1);
    expect([await rows(), await audited(), await accesses()]).toEqual(before);
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByText('These weights hold').waitFor();
    expect(await weight()).toBeCloseTo(0.9);
  });

  it('changes what a save does with a secret, and adds a pattern', async () => {
    const { page } = await open('secrets');
    await page.getByRole('button', { name: 'New pattern' }).click();
    await page.getByLabel('Name (required)').fill('acme-token');
    await page.getByLabel('What it finds').fill('Tokens of the Acme API.');
    await page.getByLabel('Regular expression (required)').fill('acme_[0-9]{12}');
    await page.getByLabel('Keywords').fill('acme_');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await row(page, 'Patterns', 'acme-token').getByText('yours').waitFor();
    const { isError, text } = await own.gateway.tool('C', 'save_memory', {
      content: 'It is acme_830561940275',
      project_id: 'l9',
    });
    expect([isError, text]).toEqual([true, expect.stringContaining('SECRET_FOUND')]);
    await page.getByLabel('A write that holds a secret').selectOption('redact');
    await page.getByText('Kept').waitFor();
    const { result } = await own.gateway.tool('C', 'save_memory', {
      content: 'It is acme_830561940275',
      project_id: 'l9',
    });
    expect(result.memory.content).toContain('[redacted: acme-token]');
  });

  itOnEmbedded('offers no change to a key that can write nothing, and tells agents why they see nothing', async () => {
    await own.gateway
      .query(
        'L',
        'mutation { admin { registerActor(caller: "auditor", role: "l9_admin", readableScopes: ["*"], writableScopes: []) { caller } createApiKey(caller: "auditor", name: "auditor") { apiKey } } }',
      )
      .then(async ({ admin }) => {
        const { page } = await open('callers', { token: admin.createApiKey.apiKey });
        await page.getByRole('table', { name: 'Callers' }).waitFor();
        expect(
          await page
            .getByRole('main')
            .getByRole('button', { name: /New|Change|Switch/ })
            .count(),
        ).toBe(0);
      });
    const asC = await open('callers', 'C');
    await asC.page.getByRole('alert').getByText('Not allowed').first().waitFor();
    expect(await asC.page.getByRole('button', { name: 'New caller' }).count()).toBe(0);
    expect(await asC.received()).not.toMatch(/canary of Anna/);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page, problems } = await own.visit({
      as: 'L',
      path: '/settings',
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    for (const part of PARTS) {
      await page.getByRole('tab', { name: part, exact: true }).click();
      await eventually(async () => (await page.locator('.loading').count()) === 0);
      expect(await seriousViolations(page), part).toEqual([]);
      expect(await overflowOf(page), part).toBe(0);
    }
    expect(problems).toEqual([]);
  });
});
