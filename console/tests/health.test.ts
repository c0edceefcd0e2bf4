import type { Page } from 'playwright-core';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeInBrowser } from './support/in-browser.ts';

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
    await page.getByText('Memory of the process').waitFor();
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

  describe('a plot', () => {
    const plot = (page: Page, title: string) => page.locator('figure', { hasText: title });
    /** Opens the page as if the gateway remembered these minutes. */
    async function withMinutes(minutes: readonly object[]) {
      const { page, problems } = await own.visit({ as: 'L', path: '/search' });
      await page.route('**/graphql', async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        const gateway = answer.data?.admin?.health?.gateway;
        if (gateway) gateway.minutes = minutes.map((minute, n) => ({ ...gateway.minutes[0], at: at(n), ...minute }));
        await route.fulfill({ response, json: answer });
      });
      await page.getByRole('link', { name: 'Health' }).click();
      await page.getByText('Memory of the process').waitFor();
      return { page, problems };
    }
    const at = (minute: number) => new Date(Date.UTC(2026, 2, 2, 9, minute)).toISOString();
    const measured = {
      calls: 3,
      meanMs: 5,
      slowestMs: 9,
      embeddingWaiting: 0,
      connectionsWaiting: 0,
      residentBytes: 9e7,
    };
    const unmeasured = { calls: 0, embeddingWaiting: null, connectionsWaiting: null, residentBytes: null };

    it('says that data is being collected until there are two minutes', async () => {
      const { page } = await withMinutes([measured]);
      expect(await page.getByText('Data is being collected').count()).toBe(4);
      expect(await page.locator('.plot canvas').count()).toBe(0);
      expect(await seriousViolations(page)).toEqual([]);
    });

    it('says that nothing was called or measured', async () => {
      const { page } = await withMinutes([unmeasured, unmeasured, unmeasured]);
      await plot(page, 'Duration of calls').getByText('There were no calls in the last hour.').waitFor();
      await plot(page, 'Memory of the process').getByText('Nothing was measured yet.').waitFor();
      await plot(page, 'Calls a minute')
        .getByRole('img', { name: /all: now 0/ })
        .waitFor();
    });

    it('leaves a gap where nothing was measured, and draws a value between gaps as a point', async () => {
      const { page, problems } = await withMinutes([
        measured,
        measured,
        unmeasured,
        { ...measured, residentBytes: 1.2e8 },
        unmeasured,
        measured,
        measured,
      ]);
      const memory = plot(page, 'Memory of the process');
      await memory.locator('canvas').waitFor();
      await memory.getByText('86 MiB').waitFor();
      // Of each seventh of the drawing: whether something of the colour of the line is in it.
      const parts = await page.evaluate(`(() => {
        const canvas = [...document.querySelectorAll('.plot')].at(-1).querySelector('canvas');
        const probe = document.createElement('span');
        probe.style.color = 'var(--series-3)';
        document.querySelector('main').append(probe);
        const wanted = getComputedStyle(probe).color;
        const paint = new OffscreenCanvas(1, 1).getContext('2d');
        paint.fillStyle = wanted;
        paint.fillRect(0, 0, 1, 1);
        const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
        const { width, height } = canvas;
        const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
        const columns = [];
        for (let x = 0; x < width; x += 1)
          for (let y = 0; y < height; y += 1) {
            const i = (y * width + x) * 4;
            if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 30 && data[i + 3] > 200) {
              columns.push(x);
              break;
            }
          }
        return columns.filter((x, n) => n === 0 || x - columns[n - 1] > 10).length;
      })()`);
      // A line, a point, a line.
      expect(parts).toBe(3);
      expect(problems).toEqual([]);
    });
  });

  it('is no page for agents, who are told why', async () => {
    const { page, received } = await own.visit({ as: 'C', path: '/health' });
    await page.getByRole('alert').getByText('Not allowed').waitFor();
    expect(await page.getByRole('link', { name: 'Health' }).count()).toBe(0);
    expect(await received()).not.toMatch(/packet_store|orchid-canary/);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
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
