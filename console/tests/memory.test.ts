import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { readOnlyKey } from './support/callers.ts';
import { useTestConsole } from './support/console.ts';
import { HOSTILE, injected, NOTHING_INJECTED } from './support/hostile.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const UPDATE = `mutation ($input: UpdateMemoryInput!) { updateMemory(input: $input) { status } }`;
const CANARY = 'canary-of-l-private';

describeOnEmbeddedInBrowser('the page of a memory', () => {
  const own = useTestConsole();
  let reader: string;
  let shared: string;
  let hidden: string;
  beforeAll(async () => {
    const { gateway } = own;
    shared = await gateway.save('C', 'Releases go out on Tuesdays.', { tags: ['release'] });
    await gateway.query('C', UPDATE, { input: { packetId: shared, content: 'Releases go out on Thursdays.' } });
    hidden = await gateway.save('L', `Private to L: ${CANARY}`, { scope: 'l-private' });
    reader = await readOnlyKey(gateway);
  });

  it('shows text, fields and where it comes from', async () => {
    const id = await own.gateway.save('C', 'With fields', {
      envelope: { status: 'open', nested: { owner: 'Anna' } },
      speaker: 'Ben',
    });
    const { page, problems } = await own.visit({ as: 'C', path: `/memories/${id}` });
    await page.getByText('Anna').waitFor();
    await page.getByText('Cursor-IDE').first().waitFor();
    await page.getByText('Ben', { exact: true }).first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('says which policy lets C in, and which keeps it out', async () => {
    const { page } = await own.visit({ as: 'L', path: `/memories/${shared}?tab=access` });
    await page.getByText('C can see it').waitFor();
    await page.goto(`/console/memories/${hidden}?tab=access&as=C`);
    await page.getByText('C cannot see it').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'scope_access' }).getByText('keeps out').waitFor();
    await page.getByLabel('See as').selectOption('L');
    await page.getByText('L can see it').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  });

  it('shows each change as a difference, and restores a version', async () => {
    const { page } = await own.visit({ as: 'C', path: `/memories/${shared}?tab=history` });
    expect(await page.locator('ins').first().innerText()).toBe('Thursdays');
    expect(await page.locator('del').first().innerText()).toBe('Tuesdays');
    await page.getByRole('button', { name: 'Restore' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Brings back: text.').waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('heading', { name: 'Releases go out on Tuesdays.' }).waitFor();
    await page.getByText('Change 2').waitFor();
  });

  it('restores what a kind has in fields, tags and project', async () => {
    const item = { kind: 'todo', projectId: 'l9', tags: ['old'], data: { text: 'Water the plants', status: 'open' } };
    const { memoryStore } = await own.gateway.query(
      'C',
      `mutation ($items: [MemoryStoreItem!]!) { memoryStore(input: { items: $items }) { stored { packetId } errors { message } } }`,
      { items: [item] },
    );
    const { packetId } = memoryStore.stored[0];
    const changed = { envelope: { text: 'Water the cactus', status: 'blocked' }, tags: ['new'], projectId: 'other' };
    await own.gateway.query('C', UPDATE, { input: { packetId, ...changed } });
    const { page } = await own.visit({ as: 'C', path: `/memories/${packetId}?tab=history` });
    await page.getByRole('button', { name: 'Restore' }).last().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('heading', { name: 'Water the plants' }).waitFor();
    const { memoryByPacketId } = await own.gateway.query(
      'C',
      `{ memoryByPacketId(packetId: "${packetId}") { content tags projectId todoByPacketId { status } } }`,
    );
    expect(memoryByPacketId).toEqual({
      content: 'Water the plants',
      tags: ['old'],
      projectId: 'l9',
      todoByPacketId: { status: 'open' },
    });
  });

  it('corrects a memory, and refuses to write over a change of somebody else', async () => {
    const id = await own.gateway.save('C', 'Text with a mistaek');
    const { page } = await own.visit({ as: 'C', path: `/memories/${id}` });
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Text').fill('Text without a mistake');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Text without a mistake' }).waitFor();

    await page.getByRole('button', { name: 'Edit' }).click();
    await own.gateway.query('C', UPDATE, { input: { packetId: id, content: 'Changed meanwhile' } });
    await dialog.getByLabel('Text').fill('Written on what was there before');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').waitFor();
    const { memoryByPacketId } = await own.gateway.query('C', `{ memoryByPacketId(packetId: "${id}") { content } }`);
    expect(memoryByPacketId.content).toBe('Changed meanwhile');
  });

  it('removes a field that was emptied, and leaves the others as they are', async () => {
    const data = { text: 'Water the plants', status: 'open', assignee: 'Ben', due_date: '2026-12-01' };
    const { memoryStore } = await own.gateway.query(
      'C',
      `mutation ($items: [MemoryStoreItem!]!) { memoryStore(input: { items: $items }) { stored { packetId } errors { message } } }`,
      { items: [{ kind: 'todo', projectId: 'l9', data }] },
    );
    expect(memoryStore.errors).toEqual([]);
    const [{ packetId }] = memoryStore.stored;
    const { page } = await own.visit({ as: 'C', path: `/memories/${packetId}` });
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Assignee').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { memoryByPacketId } = await own.gateway.query(
      'C',
      `{ memoryByPacketId(packetId: "${packetId}") { envelope } }`,
    );
    const { assignee: _assignee, ...others } = data;
    expect(memoryByPacketId.envelope).toMatchObject(others);
    expect(memoryByPacketId.envelope).not.toHaveProperty('assignee');
  });

  it('lists near duplicates, facts and relations, and audit rows', async () => {
    const { gateway } = own;
    const id = await gateway.save('C', 'The payment worker retries for five minutes.');
    await gateway.save('C', 'The payment worker retries for at most five minutes.');
    const input = { subject: 'payment worker', predicate: 'owned_by', object: 'Ben', sourcePacket: id };
    await gateway.query('C', `mutation ($input: AssertFactInput!) { assertFact(input: $input) { clientMutationId } }`, {
      input,
    });
    await gateway.embedded();
    const { page } = await own.visit({ as: 'L', path: `/memories/${id}?tab=similar` });
    await page
      .getByRole('row', { name: /at most five minutes/ })
      .getByText('nearly the same')
      .waitFor();
    await page.getByRole('tab', { name: /Facts/ }).click();
    await page.getByText('owned by').waitFor();
    await page.getByRole('tab', { name: 'Audit' }).click();
    await page
      .getByRole('row', { name: /INSERT/ })
      .first()
      .waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  });

  it.each([
    'text',
    'access',
    'history',
    'similar',
    'facts',
    'audit',
  ])('fits a phone, and is accessible, in its part %s', async (tab) => {
    const { page } = await own.visit({
      as: 'L',
      path: `/memories/${shared}?tab=${tab}`,
      colorScheme: 'dark',
      viewport: { width: 320, height: 700 },
    });
    await page.getByRole('tabpanel').waitFor();
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });

  it('answers C for a hidden memory as for one that does not exist, without a word of it', async () => {
    const { page, received } = await own.visit({ as: 'C', path: `/memories/${hidden}` });
    await page.getByText('Not found, or not yours').waitFor();
    const shown = await page.locator('main').innerText();
    await page.goto('/console/memories/01900000-0000-7000-8000-000000000000');
    await page.getByText('Not found, or not yours').waitFor();
    expect(await page.locator('main').innerText()).toBe(shown);
    expect(await received()).not.toContain(CANARY);
  });

  itOnEmbedded('offers a read-only key, and C for what others wrote, no change', async () => {
    for (const [as, path] of [
      [{ token: reader }, shared],
      ['C', await own.gateway.save('L', 'Written by L for everyone')],
    ] as const) {
      const { page } = await own.visit({ as, path: `/memories/${path}?tab=history` });
      await page.getByText('now', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: /Edit|Delete|Restore/ }).count()).toBe(0);
    }
  });

  itOnEmbedded('shows hostile contents as text, in every part', async () => {
    const content = HOSTILE.join('\n');
    const id = await own.gateway.save('C', content, {
      envelope: { '<b>': HOSTILE[0], list: HOSTILE.slice(1, 3) },
      tags: ['<i>x'],
    });
    await own.gateway.query('C', UPDATE, { input: { packetId: id, content: `${HOSTILE[1]} changed` } });
    const { page, problems } = await own.visit({ as: 'L', path: `/memories/${id}` });
    await page.getByText(HOSTILE[0]!).first().waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText(HOSTILE[4]!, { exact: false }).first().waitFor();
    expect(await injected(page)).toEqual(NOTHING_INJECTED);
    expect(problems).toEqual([]);
  });
});
