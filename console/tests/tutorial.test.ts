import { useTestConsole } from './support/console.ts';
import { describeInBrowser } from './support/in-browser.ts';
import * as steps from './support/tutorial.ts';

describeInBrowser('docs/tutorial/first-steps-in-the-console.md', () => {
  const own = useTestConsole();

  it('leads with the mouse alone from the link to a memory that is approved, found, corrected and hidden', async () => {
    const { answer, corrected, question, request } = steps.readTutorial();
    const { page, problems } = await own.visit({ path: '/' });
    await page.goto(own.gateway.instance.consoleLink()!);
    await steps.chooseRule(page);
    await steps.addRule(page);

    expect({ data: await steps.saveAsAgent(own.gateway) }).toEqual(answer);
    await own.gateway.embedded();
    await steps.openReview(page);
    await steps.approve(page);

    await steps.askWhy(page);
    const words = new Set(question.toLowerCase().match(/\w+/g));
    expect(
      request.variables.memory.content
        .toLowerCase()
        .match(/\w+/g)
        .filter((word: string) => words.has(word)),
    ).toEqual([]);

    await steps.beginToCorrect(page);
    await steps.saveCorrection(page);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.locator('ins').first().waitFor();
    expect(await page.locator('ins').first().innerText()).toBe('Tuesday');
    expect(await page.locator('del').first().innerText()).toBe('Monday');

    await steps.askWhoSees(page);
    const seenByC = async () => (await own.gateway.query('C', '{ memories { nodes { content } } }')).memories.nodes;
    expect(await seenByC()).toEqual([{ content: corrected }]);
    await steps.hideFromC(page);
    expect(await seenByC()).toEqual([]);

    await steps.deleteRule(page);
    expect(problems).toEqual([]);
  });
});
