// The steps of docs/tutorial/first-steps-in-the-console.md, by the mouse: only what the page says to type is typed. Its test takes them all;
// its pictures are taken between them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';

const path = join(import.meta.dirname, '..', '..', '..', 'docs', 'tutorial', 'first-steps-in-the-console.md');

/** What the page gives to curl and what it says that curl answers, and what it says to type. */
export function readTutorial() {
  const page = readFileSync(path, 'utf8');
  const found = (pattern: RegExp) => {
    const text = pattern.exec(page)?.[1];
    if (!text) throw new Error(`the tutorial has nothing like ${pattern}`);
    return text;
  };
  return {
    request: JSON.parse(found(/<<'JSON'\n([\s\S]*?)^JSON$/m)),
    answer: JSON.parse(found(/^```json\n([\s\S]*?)^```/m)),
    question: found(/type `([^`]+)` into the field/),
    corrected: found(/correct the \*\*Text\*\*: `([^`]+)`/),
    project: found(/type `([^`]+)` as \*\*Project\*\*/),
  };
}

/** What the agent does meanwhile. */
export const saveAsAgent = (gateway: TestGateway) => {
  const { query, variables } = readTutorial().request;
  return gateway.query('C', query, variables);
};

const choosePage = (page: Page, title: string) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: title, exact: true }).click();
const openRules = async (page: Page) => {
  await choosePage(page, 'Settings');
  await page.getByRole('tab', { name: 'Review' }).click();
};
const rules = (page: Page) => page.getByRole('table', { name: 'Rules of review' });
const dialog = (page: Page) => page.getByRole('dialog');

export async function chooseRule(page: Page): Promise<void> {
  await openRules(page);
  await page.getByRole('button', { name: 'New rule' }).click();
  await dialog(page).getByLabel('Caller').selectOption('C');
  await dialog(page).getByLabel('Scope').selectOption('global');
}

export async function addRule(page: Page): Promise<void> {
  await dialog(page).getByRole('button', { name: 'Add', exact: true }).click();
  await rules(page).getByRole('row').filter({ hasText: 'what C saves in global' }).getByText('waits').waitFor();
}

export async function openReview(page: Page): Promise<void> {
  await choosePage(page, 'Review');
  const { memory } = readTutorial().request.variables;
  await page.getByRole('article', { name: 'The memory' }).getByText(memory.content).waitFor();
}

export async function approve(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText(/^Approved: /).waitFor();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
}

export async function askWhy(page: Page): Promise<void> {
  await choosePage(page, 'Search');
  const { question, request } = readTutorial();
  await page.getByRole('searchbox', { name: 'Search memories' }).fill(question);
  await page.getByRole('main').getByRole('button', { name: 'Search', exact: true }).click();
  const hit = page.getByRole('listitem').filter({ hasText: request.variables.memory.content });
  await hit.getByRole('button', { name: 'Why' }).click();
  await hit.getByText('Meaning', { exact: true }).waitFor();
}

export async function beginToCorrect(page: Page): Promise<void> {
  const { corrected, request } = readTutorial();
  await page.getByRole('link', { name: request.variables.memory.content }).click();
  await page.getByRole('main').getByRole('button', { name: 'Edit' }).click();
  await dialog(page).getByLabel('Text').fill(corrected);
}

export async function saveCorrection(page: Page): Promise<void> {
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: readTutorial().corrected }).waitFor();
}

export async function askWhoSees(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Who may see it' }).click();
  await page.getByText('C can see it').waitFor();
  await page.getByText('the policy scope_access lets it in').waitFor();
}

export async function hideFromC(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('button', { name: 'Edit' }).click();
  await dialog(page).getByLabel('Scope').selectOption('l-private');
  await dialog(page).getByLabel('Project').fill(readTutorial().project);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByText('C cannot see it').waitFor();
  await page.getByText('the policy scope_access keeps it out').waitFor();
}

export async function deleteRule(page: Page): Promise<void> {
  await openRules(page);
  await rules(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Nothing needs a review').waitFor();
}
