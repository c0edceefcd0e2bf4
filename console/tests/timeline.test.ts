import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const CANARY = 'canary-of-l-private';
const STORE = `mutation ($session: JSON!, $scope: String) {
  storeSessionToCascade(input: { session: $session, projectId: "l9", scope: $scope, redact: true }) { status redacted }
}`;
const SECRET = `sk-proj-${'a1B2c3D4'.repeat(6)}`;

describeOnEmbeddedInBrowser('the timeline', () => {
  const own = useTestConsole();
  /** Noon of a day that many days ago, in UTC, which is the time zone of these browsers. */
  const noon = (daysAgo: number) =>
    `${new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)}T12:00:00Z`;
  const dayOf = (daysAgo: number) => noon(daysAgo).slice(0, 10);
  const session = (id: string, text: string, at: string) => ({
    session_id: id,
    timestamp: at,
    ended_at: at.replace('T12:00', 'T12:40'),
    tool_name: 'claude-code',
    summary: `A session about ${id}`,
    messages: [
      { role: 'user', text },
      { role: 'assistant', text: `It works. ${SECRET}`, tool_calls: [{ name: 'edit', input: { path: 'a.ts' } }] },
    ],
  });
  const visit = (as: string, path: string, more: object = {}) => own.visit({ as, path, timezoneId: 'UTC', ...more });

  beforeAll(async () => {
    const { gateway } = own;
    await gateway.query(
      'L',
      'mutation { admin { setArchiveSettings(archiveFields: ["messages", "tool_calls"]) { tenantId } } }',
    );
    await gateway.save('C', 'Said yesterday at noon', { timestamp: noon(1) });
    await gateway.save('C', 'Said three days ago', { timestamp: noon(3) });
    await gateway.save('C', 'The deploy began', {
      kind: 'event',
      timestamp: noon(3),
      envelope: { event_type: 'deploy_started', agent_id: 'deployer' },
    });
    await gateway.save('L', `A secret of L: ${CANARY}`, { scope: 'l-private', timestamp: noon(1) });
    await gateway.query('C', STORE, { session: session('invoices', 'Why is it slow?', noon(2)), scope: 'developer' });
    await gateway.query('L', STORE, { session: session(CANARY, 'Of L alone', noon(2)), scope: 'l-private' });
  });

  it('shows memories, events and sessions by day, and goes from day to day', async () => {
    const { page, problems } = await visit('C', '/timeline');
    const day = (daysAgo: number) => page.locator(`#day-${dayOf(daysAgo)}`).locator('..');
    await day(1).getByText('Said yesterday at noon').waitFor();
    await day(2).getByText('A session about invoices').waitFor();
    await day(2).getByText('claude-code · 40 min · 2 messages · 1 redacted').waitFor();
    await day(3).getByText('deploy_started').waitFor();
    await page.getByRole('img', { name: /Counts by day/ }).waitFor();

    await page.getByRole('button', { name: 'Earlier day' }).click();
    await page.waitForURL(new RegExp(`day=${dayOf(1)}`));
    await page.getByRole('button', { name: 'Earlier day' }).click();
    await page.waitForURL(new RegExp(`day=${dayOf(2)}`));
    await page.getByText('Said yesterday at noon').waitFor({ state: 'detached' });
    await page.locator(`[data-day="${dayOf(3)}"]`).click();
    await page.waitForURL(new RegExp(`day=${dayOf(3)}`));
    await page.getByText('A session about invoices').waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByText('A session about invoices').waitFor();
    expect(problems).toEqual([]);
  });

  it('shows events or sessions alone, of one project', async () => {
    const { page } = await visit('C', '/timeline');
    await page.getByRole('button', { name: 'Events' }).click();
    await page.getByText('The deploy began').waitFor();
    await page.getByText('Said three days ago').waitFor({ state: 'detached' });
    await page.getByLabel('Project').fill('no-such-project');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing happened then').waitFor();
  });

  it('opens an archived session, redacted and verified', async () => {
    const { page, received } = await visit('C', '/timeline?show=sessions');
    await page.getByRole('link', { name: 'A session about invoices' }).click();
    await page.getByText('verified', { exact: true }).waitFor();
    await page.getByText('1 redacted').waitFor();
    await page.getByText('Why is it slow?').waitFor();
    await page.getByText('Call of edit').click();
    await page.getByText('a.ts').waitFor();
    expect(await received()).not.toContain(SECRET);
    expect(await seriousViolations(page)).toEqual([]);
    const [row] = await own.gateway.asSuperuser(
      "select details from public.audit_log where operation = 'RETRIEVE' and status = 'success' limit 1",
    );
    expect(row.details.caller).toBe('C');
  });

  it('does not show a session whose stored bytes were changed', async () => {
    const { gateway } = own;
    await gateway.query('C', STORE, { session: session('damaged', 'Was it changed?', noon(4)), scope: 'developer' });
    await gateway.asSuperuser(`
      alter table public.archive_blobs drop constraint blob_is_its_hash;
      update public.archive_blobs b set blob = set_byte(b.blob, 20, (get_byte(b.blob, 20) + 1) % 256)
      from public.session_archives a where a.archive_id = b.archive_id and a.session_id = 'damaged'`);
    const { page } = await visit('C', '/timeline?show=sessions');
    await page.getByRole('link', { name: 'A session about damaged' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByText('verified', { exact: true }).count()).toBe(0);
    expect(await page.getByText('Was it changed?').count()).toBe(0);
  });

  it('shows C nothing of l-private, in the page and in all that the browser received', async () => {
    const { page, received } = await visit('C', '/timeline');
    await page.getByText('Said yesterday at noon').waitFor();
    await page.locator(`[data-day="${dayOf(1)}"][title*="1 memories"]`).waitFor();
    const [{ archive_id: id }] = await own.gateway.asSuperuser(
      "select archive_id from public.session_archives where scope = 'l-private'",
    );
    await page.goto(`/console/timeline/sessions/${id}`);
    await page.getByText('There is no such session, or you may not read it').waitFor();
    expect(await received()).not.toContain(CANARY);
    const ofL = await visit('L', `/timeline/sessions/${id}`);
    await ofL.page.getByText('Of L alone').waitFor();
  });

  itOnEmbedded('shows hostile memories and sessions as text', async () => {
    for (const text of HOSTILE) await own.gateway.save('C', text, { project_id: 'hostile' });
    await own.gateway.query('C', STORE, {
      session: { ...session('hostile', HOSTILE.join('\n'), noon(5)), summary: `Hostile ${HOSTILE[0]}` },
      scope: 'developer',
    });
    const { page } = await visit('L', '/timeline?project=hostile');
    for (const text of HOSTILE) await page.getByText(text, { exact: false }).first().waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
    await page.goto('/console/timeline?show=sessions');
    await page.getByRole('link', { name: /^Hostile/ }).click();
    await page.getByText(HOSTILE[1]!, { exact: false }).first().waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page } = await visit('L', '/timeline', { colorScheme, viewport: { width: 320, height: 700 } });
    await page.getByRole('img', { name: /Counts by day/ }).waitFor();
    await page.locator('.moment').first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await page.goto('/console/timeline?show=sessions');
    await page.getByRole('link', { name: 'A session about invoices' }).click();
    await page.getByText('verified', { exact: true }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
