import { readFileSync } from 'node:fs';
import { sealAll } from '../../db/tests/audit/support.ts';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeInBrowser } from './support/in-browser.ts';

describeInBrowser('the page of the audit log', () => {
  const own = useTestConsole();
  let memory: string;
  const row = (text: string) => ({ name: new RegExp(text) });
  beforeAll(async () => {
    const { gateway } = own;
    memory = await gateway.save('C', 'A memory with a history');
    await gateway.tool('C', 'save_memory', { content: 'Not for C', scope: 'l-private', project_id: 'l9' });
    await gateway.call('L', 'get_memory', { packet_id: memory });
    await sealAll(own.gateway);
  });

  it('filters by caller, operation and row, and keeps the filters in the address', async () => {
    const { page, problems } = await own.visit({ as: 'L', path: '/audit' });
    await page.getByRole('row', row('C INSERT')).first().waitFor();
    await page.getByLabel('Caller').fill('L');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByRole('row', row('C INSERT')).first().waitFor({ state: 'detached' });
    expect(page.url()).toContain('caller=L');
    await page.getByLabel('Operation').selectOption('READ');
    await page.getByRole('row', row('READ get_memory')).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Row').fill(memory);
    await page.keyboard.press('Enter');
    await page.waitForURL(/row=/);
    await page.getByRole('row', row('WhoAmI')).first().waitFor({ state: 'detached' });
    await page.getByRole('row', row('C INSERT')).waitFor();
    await page.getByRole('row', row('L READ get_memory')).waitFor();
    await page.reload();
    await page.getByRole('row', row('L READ get_memory')).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
    expect(problems).toEqual([]);
  });

  it('lists what was refused, with its reason', async () => {
    const { page } = await own.visit({ as: 'L', path: '/audit' });
    await page.getByLabel('Only what was refused or failed').check();
    await page.getByRole('row', row('C INSERT .*L9SCP')).waitFor();
    await page.getByRole('button', { name: 'INSERT' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('SCOPE_DENIED').first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'All by C' }).click();
    await page.waitForURL(/caller=C/);
  });

  it('says how many rows are new without counting its own reads, and shows them when asked', async () => {
    const { page } = await own.visit({ as: 'L', path: '/audit?caller=C' });
    await page.getByRole('row', row('C INSERT')).first().waitFor();
    await page.clock.install();
    await page.reload();
    await page.getByRole('row', row('C INSERT')).first().waitFor();
    await page.clock.runFor(45_000);
    await page.waitForTimeout(500);
    expect(await page.getByRole('button', { name: /new – show/ }).count()).toBe(0);
    await own.gateway.save('C', 'Saved while the page was open');
    await page.clock.runFor(21_000);
    await page.getByRole('button', { name: '1 new – show' }).click();
    await page.getByRole('button', { name: '1 new – show' }).waitFor({ state: 'detached' });
  });

  it('verifies the chain step by step, also while another page is shown, and remembers it', async () => {
    const { page } = await own.visit({ as: 'L', path: '/audit' });
    await page.getByText('not verified from here yet').waitFor();
    await page.getByRole('heading', { name: /Sealed to/ }).waitFor();
    // The first step waits until the page was left and found again.
    const isBack = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('VerifyAudit')) await isBack.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('progressbar').waitFor();
    await page.getByRole('link', { name: 'Memories' }).click();
    await page.getByRole('heading', { name: 'Memories' }).waitFor();
    await page.getByRole('link', { name: 'Verifying the audit log' }).click();
    await page.getByRole('heading', { name: /Sealed to/ }).waitFor();
    isBack.resolve();
    await page.getByText('verified', { exact: true }).waitFor();
    await page.getByText(/The log is whole/).waitFor();
    await page.reload();
    await page.getByText('verified', { exact: true }).waitFor();
  });

  it('exports the rows as JSON lines', async () => {
    const { page } = await own.visit({ as: 'L', path: '/audit', acceptDownloads: true });
    await page.getByRole('button', { name: 'Export…' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('button', { name: 'Export' }).click(),
    ]);
    const rows = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [{ count }] = await own.gateway.sql('L', 'select count(*)::int as count from public.audit_log');
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.length).toBeLessThanOrEqual(count);
    expect(rows.map(({ row_id: id }) => id)).toContain(memory);
    await page.getByText(`${rows.length} rows were exported.`).waitFor();
  });

  it('is for administrators: C reads no row and asks for none', async () => {
    const { page, received } = await own.visit({ as: 'C', path: '/audit' });
    await page.getByText('Only administrators read the audit log').waitFor();
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    expect(await received()).not.toMatch(/"auditLogs":|"auditHead":/);
  });

  itOnEmbedded('shows hostile references as text', async () => {
    for (const text of HOSTILE)
      await own.gateway.query(
        'C',
        'mutation ($c: String!, $r: String!) { saveMemory(input: { content: $c, correlationId: $r, projectId: "l9" }) { status } }',
        {
          c: text,
          r: text,
        },
      );
    const { page } = await own.visit({ as: 'L', path: '/audit?caller=C' });
    await page.getByRole('button', { name: 'INSERT' }).first().click();
    await page.getByRole('dialog').getByText('Reference').waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await own.visit({ as: 'L', path: '/audit', colorScheme, viewport: { width: 320, height: 700 } });
    await page.locator('tbody tr').first().waitFor();
    await page.getByText('Filters').first().click();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });

  it('names what is wrong where a row was changed', async () => {
    await sealAll(own.gateway);
    await own.gateway.asSuperuser(`
      do $$ declare p record; begin for p in select inhrelid::regclass as t from pg_inherits where inhparent = 'public.audit_log'::regclass loop
        execute format('alter table %s disable trigger all', p.t); end loop; end $$;
      alter table public.audit_log disable trigger all;
      update public.audit_log set table_name = 'x' where row_id = '${memory}' and operation = 'INSERT'`);
    const { page } = await own.visit({ as: 'L', path: '/audit' });
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('The log was changed: a row was altered.').waitFor();
    await page.getByText('broken', { exact: true }).waitFor();
    await page.getByText(/seal \d+, row [0-9a-f-]{36}/).waitFor();
  });
});
