import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { describeInBrowser } from './support/browser.ts';
import { useTestConsole } from './support/console.ts';

const HOSTILE = '<img src=x onerror="document.title=1"> orchid-canary';

describeInBrowser('the page Health', () => {
  const own = useTestConsole({ embedder: standIn, env: { SLOW_QUERY_MS: '0' } });

  beforeAll(async () => {
    await own.gateway.save('L', HOSTILE, { scope: 'l-private' });
    await own.gateway.call('C', 'search_memory', { query: 'nothing of the kind' });
    await own.gateway.embedded();
  });

  it('says that all is well, shows the last hour, and has what was called, stored and runs below', async () => {
    const { page, problems, received } = await own.visit({ as: 'L', path: '/health' });
    await page.getByText('All is well').waitFor();
    await page.getByRole('img', { name: /^Calls a minute in the last hour\. all: now/ }).waitFor();
    await page.getByRole('cell', { name: /Vectors makes memories findable/ }).waitFor();
    await page.getByRole('tab', { name: 'Calls' }).click();
    await page.getByRole('table', { name: 'Operations' }).getByText('save_memory').waitFor();
    await page.getByRole('table', { name: 'Slow calls' }).getByText('search_memory').waitFor();
    await page.getByRole('tab', { name: 'Storage' }).click();
    await page.getByRole('table', { name: 'The largest tables' }).getByText('packet_store', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Server' }).click();
    await page.locator('dl.facts', { hasText: 'Replicas' }).getByText('none').waitFor();
    // The tab stands in the address.
    await page.reload();
    await page.getByRole('tab', { name: 'Server', selected: true }).waitFor();
    expect(await received()).not.toContain('orchid-canary');
    expect(problems).toEqual([]);
  });

  it('says what is wrong and what to do', async () => {
    await own.gateway.asSuperuser(
      `insert into embeddings.pending_embeddings (packet_id, model, attempts, next_attempt_at, last_error)
       select packet_id, embeddings.serving_model(), 3, now() + interval '1 hour', 'ProviderDown' from public.packet_store`,
    );
    try {
      const { page } = await own.visit({ as: 'L', path: '/health' });
      const finding = page.getByRole('listitem').filter({ hasText: 'could not be embedded: ProviderDown' });
      await finding.getByText('are tried again').waitFor();
      expect(await page.getByText('All is well').count()).toBe(0);
      await own.gateway.asSuperuser('delete from embeddings.pending_embeddings');
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText('All is well').waitFor();
    } finally {
      await own.gateway.asSuperuser('delete from embeddings.pending_embeddings');
    }
  });

  it('is no page for agents, who are told why', async () => {
    const { page, received } = await own.visit({ as: 'C', path: '/health' });
    await page.getByRole('alert').getByText('Not allowed').waitFor();
    expect(await page.getByRole('link', { name: 'Health' }).count()).toBe(0);
    expect(await received()).not.toMatch(/packet_store|orchid-canary/);
  });

  it.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page, problems } = await own.visit({
      as: 'L',
      path: '/health',
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    await page.getByText('All is well').waitFor();
    for (const tab of ['Background work', 'Calls', 'Storage', 'Server']) {
      await page.getByRole('tab', { name: tab }).click();
      expect(await seriousViolations(page), tab).toEqual([]);
      expect(await overflowOf(page), tab).toBe(0);
    }
    expect(problems).toEqual([]);
  });
});
