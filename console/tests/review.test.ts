import type { Page } from 'playwright-core';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { describeInBrowser } from './support/browser.ts';
import { useTestConsole } from './support/console.ts';

const PRESENT = 'The buoy north of the harbour is painted green every spring by the crew.';
const HOSTILE = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script> hostile`;

describeInBrowser('the page Review', () => {
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

  it('shows contents as text, and to agents nothing', async () => {
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

  it.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
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
