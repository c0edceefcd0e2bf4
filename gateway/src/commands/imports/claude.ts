// `conversations.json` of an export of Claude: each conversation has a list of messages, of which one that was edited stands there with
// all its versions. The branch that was shown last is read where the export says which one that is.
import { isObject } from '../../operations/read-input.ts';
import type { ImportFormat } from './format.ts';
import { type Fields, messagesOf, type Read, readObjects } from './objects.ts';

const SPEAKERS: Record<string, string> = { human: 'user', user: 'user', assistant: 'assistant' };

export const claude: ImportFormat = {
  name: 'claude',
  // A conversation may be longer than what is looked at.
  recognises: ({ first, head }) =>
    first ? Array.isArray(first.chat_messages) : /^\s*\[\s*\{[\s\S]*"chat_messages"\s*:\s*\[/.test(head),
  read: (chunks) => readObjects(chunks, memoriesOf),
};

function memoriesOf({ chat_messages, uuid, name, created_at, current_leaf_message_uuid }: Fields): Read[] {
  if (!Array.isArray(chat_messages) || typeof uuid !== 'string')
    return [{ problem: 'not a conversation: it has no chat_messages or no uuid' }];
  const said = branchOf(chat_messages.filter(isObject), current_leaf_message_uuid).flatMap((message) => {
    const speaker = SPEAKERS[String(message.sender).toLowerCase()];
    const content = textOf(message);
    return speaker && content !== '' ? [{ speaker, content, timestamp: message.created_at }] : [];
  });
  return messagesOf(said, { thread: uuid, title: name, startedAt: created_at });
}

function branchOf(messages: Fields[], leaf: unknown): Fields[] {
  const byId = new Map(messages.map((message) => [message.uuid, message]));
  if (!byId.has(leaf)) return messages;
  const branch = new Set<Fields>();
  for (let at = byId.get(leaf); at && !branch.has(at); at = byId.get(at.parent_message_uuid)) branch.add(at);
  return [...branch].reverse();
}

/** What a person could read of it: its blocks without calls of tools, or else its text. */
function textOf({ text, content }: Fields): string {
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  const parts = blocks.flatMap((block) => (block.type === 'text' && typeof block.text === 'string' ? block.text : []));
  const read = parts.filter((part) => part.trim() !== '').join('\n');
  return (read || (typeof text === 'string' && blocks.length === 0 ? text : '')).trim();
}
