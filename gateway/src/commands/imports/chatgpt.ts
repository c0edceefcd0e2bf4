// `conversations.json` of an export of ChatGPT: each conversation is a tree of messages, of which the branch that was shown last is read.
import { isObject } from '../../operations/read-input.ts';
import type { ImportFormat } from './format.ts';
import { type Fields, messagesOf, type Read, readObjects } from './objects.ts';

const ROLES = new Set(['user', 'assistant']);

export const chatgpt: ImportFormat = {
  name: 'chatgpt',
  // A conversation may be longer than what is looked at.
  recognises: ({ first, head }) =>
    first ? isObject(first.mapping) : /^\s*\[\s*\{[\s\S]*"mapping"\s*:\s*\{/.test(head),
  read: (chunks) => readObjects(chunks, memoriesOf),
};

function memoriesOf(conversation: Fields): Read[] {
  const { mapping, title, create_time, current_node } = conversation;
  const thread = conversation.conversation_id ?? conversation.id;
  if (!isObject(mapping) || typeof thread !== 'string')
    return [{ problem: 'not a conversation: it has no mapping or no conversation_id' }];
  const said = branchOf(mapping, current_node).flatMap((message) => {
    const content = textOf(message);
    const speaker = String((message.author as Fields).role);
    return content === '' ? [] : [{ speaker, content, timestamp: message.create_time ?? undefined }];
  });
  return messagesOf(said, { thread, title, startedAt: create_time });
}

/** The messages from the first to the current one. Answers that were discarded hang on other branches. */
function branchOf(mapping: Fields, current: unknown): Fields[] {
  const nodes = new Map(Object.entries(mapping).filter((entry): entry is [string, Fields] => isObject(entry[1])));
  const last =
    typeof current === 'string' && nodes.has(current)
      ? current
      : [...nodes].findLast(([, { children }]) => !Array.isArray(children) || children.length === 0)?.[0];
  const messages: Fields[] = [];
  const seen = new Set<unknown>();
  for (let id: unknown = last; typeof id === 'string' && !seen.has(id); id = nodes.get(id)?.parent) {
    seen.add(id);
    const message = nodes.get(id)?.message;
    if (isObject(message) && isObject(message.author) && ROLES.has(String(message.author.role))) messages.push(message);
  }
  return messages.reverse();
}

/** What a person could read of it. */
function textOf({ content, metadata }: Fields): string {
  if (isObject(metadata) && metadata.is_visually_hidden_from_conversation === true) return '';
  if (!isObject(content)) return '';
  if (content.content_type === 'code' && typeof content.text === 'string') return content.text.trim();
  if (!Array.isArray(content.parts)) return '';
  const parts = content.parts.map((part: unknown) => {
    if (typeof part === 'string') return part;
    if (!isObject(part)) return '';
    if (typeof part.text === 'string') return part.text;
    return String(part.content_type).startsWith('image') ? '[image]' : '';
  });
  const text = parts.filter((part) => part.trim() !== '').join('\n');
  return /^(\[image\]\s*)*$/.test(text) ? '' : text.trim();
}
