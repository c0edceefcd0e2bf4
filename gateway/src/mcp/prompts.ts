// The prompts of MCP, which a person chooses in an editor: to recall, to have something remembered, and to review.
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import { isReviewer } from '../auth/identity.ts';
import { HOW_TO_SAVE } from '../editors/skill.ts';
import { shownName } from '../input/echo.ts';
import { isProject, PROJECT_NAME } from '../input/names.ts';
import { isBlank } from '../input/text.ts';
import { recalled } from '../operations/recalled.ts';
import { BUDGET, recallForPrompt, recallForStart } from '../recall/recall.ts';
import { CallRefused, type Calls } from './calls.ts';
import { recallingIn } from './projects.ts';
import { asProtocolError, invalid, orProtocolError } from './protocol-errors.ts';

type Arguments = Readonly<Record<string, string>>;

interface OwnPrompt extends Prompt {
  /** Whether it is offered to reviewers only. */
  isForReviewers?: true;
  /** The text that the user sends. */
  text(calls: Calls, given: Arguments): Promise<string>;
}

const PROJECT = { name: 'project', description: 'Another project than that of the working copy.' };

const prompts: readonly OwnPrompt[] = [
  {
    name: 'recall',
    title: 'Recall from memory',
    description: 'Recalls what memory holds about a subject, or what a session in this project starts with.',
    arguments: [
      { name: 'about', description: 'A subject or a question. Without it: rules, decisions, todos, lessons.' },
      PROJECT,
    ],
    async text({ callTools, identity }, { about, project }) {
      const recalling = recallingIn(identity, project ?? null, about ? BUDGET.prompt : BUDGET.start);
      const block = about
        ? await recallForPrompt(callTools, about, recalling)
        : await recallForStart(callTools, { ...recalling, now: Date.now() });
      const subject = about ? `about ${recalled(about)}` : 'about the project';
      return block
        ? `This is what memory holds ${subject}. Tell me what of it matters for what we do.\n\n${block.text}`
        : `Memory holds nothing ${subject} that you may read. Say so, and go on without it.`;
    },
  },
  {
    name: 'remember',
    title: 'Remember',
    description: 'Has a text kept in memory, or what this session settled.',
    arguments: [{ name: 'text', description: 'What to remember. Without it: what this session settled.' }],
    async text(_, { text }) {
      const what = text ? `this: ${text}` : 'what this session settled and a later one needs';
      return `Keep in memory ${what}\n\nSearch first for what is known of it already, and tell me the ids of what you saved.\n\n${HOW_TO_SAVE}`;
    },
  },
  {
    name: 'review',
    title: 'Review what waits',
    description: 'Shows the memories that wait for a review, to decide about each.',
    arguments: [{ ...PROJECT, description: 'Only this project.' }],
    isForReviewers: true,
    async text({ call }, { project }) {
      const called = await call('review_queue', { ...(project && { project_id: project }) });
      if (called.error) throw new CallRefused(called.error);
      return `Go through these memories with me, one by one. Say what speaks for and against each, ask me, and then call approve_memory, reject_memory or merge_memories as I decide.\n\n${called.summary}`;
    },
  },
];

export const listPrompts = (forReviewers: boolean): Prompt[] =>
  prompts
    .filter(({ isForReviewers }) => forReviewers || !isForReviewers)
    .map(({ isForReviewers: _, text: __, ...prompt }) => prompt);

const promptOf = (name: string, { identity }: Calls) =>
  prompts.find((prompt) => prompt.name === name && (!prompt.isForReviewers || isReviewer(identity)));

/** Throws the error of JSON-RPC that says what is wrong. */
export async function getPrompt(calls: Calls, name: string, given: Arguments = {}): Promise<GetPromptResult> {
  const refuse = async (field: string, reason: string) =>
    asProtocolError(await calls.refuse('prompts/get', invalid(field, reason)));
  const prompt = promptOf(name, calls);
  if (!prompt) throw await refuse('name', `there is no prompt ${shownName(name, 'of this name')}`);
  const named = Object.entries(given).filter(([, value]) => !isBlank(value));
  const unknown = named.find(([field]) => !prompt.arguments?.some((argument) => argument.name === field));
  if (unknown) throw await refuse('arguments', `${shownName(unknown[0], 'one of them')} is no argument of this prompt`);
  if (named.some(([field, value]) => field === PROJECT.name && !isProject(value)))
    throw await refuse(PROJECT.name, `must be ${PROJECT_NAME}`);
  const text = await orProtocolError(() => prompt.text(calls, Object.fromEntries(named)));
  return { description: prompt.description!, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

/** Whether a project completes the argument of a prompt; null if there is no such prompt. */
export function takesProject(name: string, argument: string, calls: Calls): boolean | null {
  const prompt = promptOf(name, calls);
  if (!prompt) return null;
  return argument === PROJECT.name && prompt.arguments!.some((one) => one.name === argument);
}
