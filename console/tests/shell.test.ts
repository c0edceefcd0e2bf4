import { itOnEmbedded } from '../../db/tests/support/on-engine.ts';
import { overflowOf, seriousViolations } from './support/accessible.ts';
import { useTestConsole } from './support/console.ts';
import { describeInBrowser } from './support/in-browser.ts';

describeInBrowser('the console', () => {
  const own = useTestConsole();

  it('signs in with a link once, and takes the code out of the address', async () => {
    const link = own.gateway.instance.consoleLink()!;
    const { page, problems } = await own.visit();
    await page.goto(link);
    await page.getByRole('button', { name: /Signed in as me/ }).waitFor();
    expect(page.url()).not.toContain('code=');
    expect(problems).toEqual([]);

    const other = await own.visit();
    await other.page.goto(link);
    await other.page.goto('about:blank');
    await other.page.goto(link);
    await other.page.getByText(/this link has been used/).waitFor();
  });

  it('signs in with a key, keeps it in this tab, and forgets it when the person signs out', async () => {
    const { page } = await own.visit();
    await page.getByLabel('API key or token').fill(own.gateway.apiKey('C'));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: /Signed in as C/ }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key or token').waitFor();
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).not.toContain(
      own.gateway.apiKey('C'),
    );
  });

  it('says why a key is not accepted', async () => {
    const { page } = await own.visit();
    await page.getByLabel('API key or token').fill('no-such-key-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByRole('alert')
      .getByText(/not accepted|malformed/)
      .waitFor();
  });

  itOnEmbedded('opens pages by keys, and lists the keys', async () => {
    const { page } = await own.visit({ as: 'L', path: '/memories' });
    await page.getByRole('heading', { name: 'Memories' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Go to Memories').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('m');
    expect(new URL(page.url()).pathname).toBe('/console/memories');
  });

  itOnEmbedded.each(['light', 'dark'] as const)('is accessible and fits a phone when it is %s', async (colorScheme) => {
    const { page, problems } = await own.visit({
      as: 'L',
      path: '/memories',
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    await page.getByRole('heading', { name: 'Memories' }).waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await page.getByRole('button', { name: 'Pages' }).click();
    expect(await seriousViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  itOnEmbedded('says what to do where JavaScript is off', async () => {
    const { page } = await own.visit({ javaScriptEnabled: false });
    expect(await page.locator('noscript').innerText()).toContain('This page needs JavaScript');
  });
});
