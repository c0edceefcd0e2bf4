// What a session was about, in its own words: its first request, the tools that it used and its last answer.
import type { Message, Recording } from './session.ts';

const MOST_OF_A_SUMMARY = 4_000;
const MOST_OF_A_TEXT = 600;
const MOST_TOOLS = 8;

/** At most so many characters, never half of a surrogate pair. */
const cut = (text: string, most: number) =>
  text.length <= most
    ? text
    : `${text
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`;
const shorten = (text: string, most: number) => cut(text.replace(/\s+/g, ' ').trim(), most);

export function summaryOf({ summary, title, messages }: Recording): string {
  if (summary) return cut(summary, MOST_OF_A_SUMMARY);
  const request = messages.find(({ role, text }) => role === 'user' && text.trim() !== '');
  const answer = messages.findLast(({ role, text }) => role === 'assistant' && text.trim() !== '');
  const tools = toolsOf(messages);
  const parts = [
    title && `${shorten(title, 200).replace(/[.:]$/, '')}.`,
    request && `Asked: ${shorten(request.text, MOST_OF_A_TEXT)}`,
    tools && `Tools: ${tools}.`,
    answer && `Answered: ${shorten(answer.text, MOST_OF_A_TEXT)}`,
  ];
  return parts.filter(Boolean).join('\n');
}

/** The most used tools first: `Bash 12, Edit 3`. */
function toolsOf(messages: readonly Message[]): string {
  const counts = new Map<string, number>();
  for (const { tool_calls } of messages)
    for (const { name } of tool_calls ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const shown = sorted.slice(0, MOST_TOOLS).map(([name, count]) => `${shorten(name, 60)} ${count}`);
  return shown.join(', ') + (sorted.length > MOST_TOOLS ? ` and ${sorted.length - MOST_TOOLS} more` : '');
}

/** Whether a session ended with an answer rather than in the middle of something. Null: it holds no messages. */
export function endedWell(messages: readonly Message[]): boolean | null {
  const last = messages.at(-1);
  return last ? last.role === 'assistant' && last.text.trim() !== '' : null;
}
