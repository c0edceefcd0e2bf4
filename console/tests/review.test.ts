import type { Page } from 'playwright-core';
import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeOnEmbeddedInBrowser } from './support/in-browser.ts';

const PRESENT = 'The buoy north of the harbour is painted green every spring by the crew.';
const HOSTILE = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script> hostile`;

describeOnEmbeddedInBrowser('the page Review', () => {
  const own = useTestConsole({ embedder: standIn });
  let present: string;
  const save = (content: string, caller = 'C') => own.gateway.save(caller, content);
  const stateOf = async (id: string) => {
    const [row] = await own.gateway.asSuperuser(
      "select review_state, envelope ->> 'content' as content from public.packet_store where packet_id = $1",
      [id],
    );
    return row ?? null;
  };
  const item = (page: Page) => page.getByRole('article', { name: 'The memory' });
  const open = async (as = 'L', path = '/review') => {
    const visit = await own.visit({ as, path });
    await visit.page.getByRole('heading', { name: 'Review', level: 1 }).waitFor();
    return visit;
  };

  beforeAll(async () => {
    await own.gateway.query(
      'L',
      'mutation { admin { setReviewRule(caller: "C", needsReview: true) { ruleId } registerPredicate(predicate: "runs on", isSingleValued: true) { predicate } } }',
    );
    present = await save(PRESENT, 'L');
    await own.gateway.call('L', 'assert_fact', {
      subject: 'billing',
      predicate: 'runs on',
      object: 'MySQL',
      project_id: 'l9',
    });
  });
  afterEach(() =>
    own.gateway.asSuperuser("delete from public.packet_store where review_state in ('pending', 'rejected')"),
  );

  it('approves, rejects with a reason and goes on, by one key each, and undoes', async () => {
    const first = await save('Releases go out on Tuesdays.');
    const second = await save('The wiki is the place for minutes.');
    const third = await save('Lunch is at noon.');
    const { page, problems } = await open();
    await page.getByText('3 memories wait').waitFor();
    await item(page).getByText('Releases go out on Tuesdays.').waitFor();
    await page.keyboard.press('a');
    await page.getByText('Approved: Releases go out on Tuesdays.').waitFor();
    expect(await stateOf(first)).toMatchObject({ review_state: 'approved' });
    await item(page).getByText('The wiki is the place').waitFor();
    await page.keyboard.press('j');
    await item(page).getByText('Lunch is at noon.').waitFor();
    await page.keyboard.press('k');
    await item(page).getByText('The wiki is the place').waitFor();
    await page.keyboard.press('r');
    const dialog = page.getByRole('dialog', { name: 'Reject' });
    await dialog.getByRole('button', { name: 'It is out of date' }).click();
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText(/^Rejected: /).waitFor();
    expect(await stateOf(second)).toMatchObject({ review_state: 'rejected' });
    await page.keyboard.press('u');
    await page
      .getByRole('list', { name: /oldest first/ })
      .getByText('The wiki is the place')
      .waitFor();
    expect(await stateOf(second)).toMatchObject({ review_state: 'pending' });
    expect(await stateOf(third)).toMatchObject({ review_state: 'pending' });
    expect(problems).toEqual([]);
  });

  it('corrects a memory and approves it in one step', async () => {
    const id = await save('The cluster lives in Francfort.');
    const { page } = await open();
    await item(page).getByText('Francfort').waitFor();
    await page.keyboard.press('e');
    await page.getByRole('dialog').getByLabel('Text').fill('The cluster lives in Frankfurt.');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText(/^Corrected and approved: /).waitFor();
    expect(await stateOf(id)).toEqual({ review_state: 'approved', content: 'The cluster lives in Frankfurt.' });
    await page.getByText('Nothing waits for a review').waitFor();
  });

  it('shows side by side what it duplicates, and merges it into that', async () => {
    const id = await save(`${PRESENT} Again.`);
    const { page } = await open();
    const similar = page.getByRole('region', { name: 'Says nearly the same' });
    await similar.getByText(PRESENT, { exact: true }).first().waitFor();
    await similar.locator('ins', { hasText: 'Again.' }).waitFor();
    await page.keyboard.press('m');
    const dialog = page.getByRole('dialog', { name: 'Merge' });
    await dialog.getByRole('button', { name: 'Take this text' }).click();
    expect(await seriousViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click();
    await page.getByText(/^Merged: /).waitFor();
    // It is kept as rejected for a while, so that the merge can be undone.
    expect(await stateOf(id)).toMatchObject({ review_state: 'rejected' });
    const rows = await own.gateway.asSuperuser(
      "select envelope ->> 'content' as content from public.packet_store where packet_id = $1",
      [present],
    );
    expect(rows).toEqual([{ content: `${PRESENT} Again.` }]);
  });

  it('shows what it contradicts', async () => {
    await own.gateway.tool('C', 'assert_fact', {
      subject: 'billing',
      predicate: 'runs on',
      object: 'Postgres',
      project_id: 'l9',
    });
    const { page } = await open();
    const values = page.getByRole('region', { name: 'Contradicts' });
    await values.getByText('MySQL').waitFor();
    await values.getByText('Postgres').waitFor();
  });

  it('decides about many at once, with one reason, and takes all of it back', async () => {
    const ids: string[] = [];
    for (const text of ['Alpha holds.', 'Beta holds.', 'Gamma holds.']) ids.push(await save(text));
    const { page } = await open();
    const queue = page.getByRole('list', { name: /oldest first/ });
    await queue.getByRole('checkbox', { name: 'Choose Alpha holds.' }).check();
    await page.keyboard.press('j');
    await item(page).getByText('Beta holds.').waitFor();
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Reject 2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reject 2 memories' });
    await dialog.getByLabel('Why').fill('Both are too private');
    expect(await seriousViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('Rejected: 2 memories').waitFor();
    await item(page).getByText('Gamma holds.').waitFor();
    const reasons = await own.gateway.asSuperuser(
      'select review_state, review_reason from public.packet_store where packet_id = any ($1) order by packet_id',
      [ids],
    );
    const rejected = { review_state: 'rejected', review_reason: 'Both are too private' };
    expect(reasons).toMatchObject([rejected, rejected, { review_state: 'pending' }]);

    await page.getByRole('button', { name: 'Undo' }).click();
    await queue.getByText('Beta holds.').waitFor();
    // The list is in its order again.
    expect(await queue.locator('.queue-name').allTextContents()).toEqual([
      'Alpha holds.',
      'Beta holds.',
      'Gamma holds.',
    ]);
    await page.getByRole('checkbox', { name: 'Choose all shown' }).check();
    await page.keyboard.press('A');
    await page.getByRole('dialog', { name: 'Approve 3 memories' }).getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Approved: 3 memories').waitFor();
    await page.getByText('Nothing waits for a review').waitFor();
    for (const id of ids) expect(await stateOf(id)).toMatchObject({ review_state: 'approved' });
  });

  it('decides about none of many if a writer has changed one since it was read', async () => {
    const ids = [await save('Delta holds.'), await save('Epsilon holds.')];
    const { page } = await open();
    await page.getByRole('checkbox', { name: 'Choose all shown' }).check();
    await own.gateway.query('C', 'mutation ($input: UpdateMemoryInput!) { updateMemory(input: $input) { status } }', {
      input: { packetId: ids[1], content: 'Something else holds.' },
    });
    await page.getByRole('button', { name: 'Approve 2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Nothing was decided: 1 memory changed').waitFor();
    for (const id of ids) expect(await stateOf(id)).toMatchObject({ review_state: 'pending' });
  });

  it('chooses all that wait, on pages that are not shown, too', async () => {
    for (let n = 1; n <= 35; n += 1) await save(`Number ${n} of many.`);
    const { page } = await open();
    await page.getByText('35 memories wait').waitFor();
    await page.getByRole('checkbox', { name: 'Choose all shown' }).check();
    await page.getByText('30 chosen').waitFor();
    await page.getByRole('button', { name: 'All that match' }).click();
    await page.getByText('35 chosen').waitFor();
    await page.getByRole('button', { name: 'Reject 35' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'It is wrong' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('Rejected: 35 memories').waitFor();
    await page.getByText('Nothing waits for a review').waitFor();
  });

  itOnEmbedded(
    'narrows to a writer, a scope, a project, a kind, and to what is said already or contradicted',
    async () => {
      await save('A plain one of l9.');
      await save(`${PRESENT} Once again.`);
      await own.gateway.save('C', 'A rule of l8.', { project_id: 'l8', kind: 'rule' });
      await own.gateway.tool('C', 'assert_fact', {
        subject: 'billing',
        predicate: 'runs on',
        object: 'SQLite',
        project_id: 'l9',
      });
      const { page } = await open();
      const names = page.locator('.queue-name');
      const showsOnly = async (text: string, count = 1) => {
        await page.locator(`.queue li:nth-child(${count}):last-child`).waitFor();
        await item(page).getByText(text).first().waitFor();
      };
      await names.nth(3).waitFor();
      await page.getByLabel('Only those that').selectOption('say what is there already');
      await showsOnly('Once again.');
      await page.getByLabel('Only those that').selectOption('contradict what holds now');
      await showsOnly('SQLite');
      // The address keeps it.
      await page.reload();
      await showsOnly('SQLite');
      await page.getByRole('button', { name: 'Clear' }).click();
      await names.nth(3).waitFor();
      await page.getByLabel('Project').fill('l8');
      await page.getByLabel('Project').press('Enter');
      await showsOnly('A rule of l8.');
      await page.getByLabel('Project').fill('');
      await page.getByLabel('Project').press('Enter');
      await names.nth(3).waitFor();
      await page.getByLabel('Kind').fill('rule');
      await page.getByLabel('Kind').press('Enter');
      await showsOnly('A rule of l8.');
      await page.getByLabel('Writer').fill('nobody');
      await page.getByLabel('Writer').press('Enter');
      await page.getByText('Nothing that waits matches').waitFor();
    },
  );

  it('leaves everything where it is when something comes, and when something is decided', async () => {
    await save('It stays in its place.');
    const other = await save('It is decided first.');
    const { page } = await open('L', `/review?item=${other}`);
    await item(page).getByText('It is decided first.').waitFor();
    const placeOf = async () => (await page.locator('.desk').boundingBox())!.y;
    const before = await placeOf();
    await save('It comes later.');
    await page.getByRole('button', { name: '1 new – show' }).waitFor({ timeout: 40_000 });
    expect(await placeOf()).toBe(before);
    await page.keyboard.press('a');
    await page.getByText('Approved: It is decided first.').waitFor();
    expect(await placeOf()).toBe(before);
    await page.getByRole('button', { name: 'Undo' }).click();
    await item(page).getByText('It is decided first.').waitFor();
    expect(await placeOf()).toBe(before);
  });

  it('says what came meanwhile, and moves only when it is asked to', async () => {
    await save('The first one.');
    const { page } = await open();
    await item(page).getByText('The first one.').waitFor();
    await save('The second one.');
    await page.getByRole('button', { name: '1 new – show' }).click({ timeout: 40_000 });
    await page
      .getByRole('list', { name: /oldest first/ })
      .getByText('The second one.')
      .waitFor();
  });

  it('leads from a memory that waits to its place in the queue', async () => {
    for (let n = 1; n <= 32; n += 1) await save(`One of those before, number ${n}.`);
    const id = await save('The last one that waits.');
    const { page } = await own.visit({ as: 'L', path: `/memories/${id}` });
    await page.getByRole('link', { name: 'pending review' }).click();
    await item(page).getByText('The last one that waits.').waitFor();
    expect(page.url()).toContain('cursor=');
  });

  it('marks what waits, was rejected or was approved, in lists, hits and on its page', async () => {
    const [waits, rejected, approved] = [
      await save('The barge waits at the lock.'),
      await save('The barge was sold to Bremen.'),
      await save('The barge carries gravel.'),
    ];
    const { gateway } = own;
    await gateway.call('L', 'reject_memory', { packet_ids: [rejected], reason: 'It was sold to Hamburg' });
    await gateway.call('L', 'approve_memory', { packet_ids: [approved] });
    const { page } = await own.visit({ as: 'C', path: '/memories' });
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    await row('waits at the lock').getByText('pending review').waitFor();
    await row('sold to Bremen').getByText('rejected, because: It was sold to Hamburg').waitFor();
    await row('carries gravel')
      .getByText(/approved by L-CTO at/)
      .waitFor();
    await page.getByLabel('Review').selectOption('rejected');
    await row('waits at the lock').waitFor({ state: 'detached' });
    await row('sold to Bremen').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.goto('/console/search?q=where+does+the+barge+wait&all=1');
    const hits = page.locator('.hit');
    await hits
      .filter({ hasText: 'carries gravel' })
      .getByText(/approved by L-CTO at/)
      .waitFor();
    expect(await hits.filter({ hasText: 'waits at the lock' }).count()).toBe(0);
    await page.getByLabel('Pending too').check();
    const pending = hits.filter({ hasText: 'waits at the lock' });
    await pending.getByText('pending review').waitFor();
    await pending.getByText('(you)').waitFor();

    // Its writer can change what waits, and no longer what was rejected.
    await page.goto(`/console/memories/${waits}`);
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    await page.goto(`/console/memories/${rejected}`);
    await page.getByText('rejected, because: It was sold to Hamburg').waitFor();
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  });

  itOnEmbedded('shows contents as text, and to agents nothing', async () => {
    await save(HOSTILE);
    const visit = await open();
    await item(visit.page).getByText('hostile').waitFor();
    expect(await visit.page.title()).not.toContain('broken');
    expect(await visit.page.locator('article img, article script').count()).toBe(0);
    expect(visit.problems).toEqual([]);

    const asC = await own.visit({ as: 'C', path: '/review' });
    await asC.page.getByRole('alert').getByText('Not allowed').waitFor();
    expect(await asC.received()).not.toContain('hostile');
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    await save(`${PRESENT} Once more, with-a-very-long-word-${'x'.repeat(80)}`);
    const { page } = await own.visit({
      as: 'L',
      path: '/review',
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    await item(page).getByText('Once more').first().waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
  });
});
