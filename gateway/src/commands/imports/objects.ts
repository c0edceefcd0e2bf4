// The objects of a file of JSON lines, of a JSON array, or of the list in the object that a whole file is.
import { markInexactNumbers } from '../../input/exact-json.ts';
import { UNDECODED } from '../../input/text.ts';
import { isObject } from '../../operations/read-input.ts';
import { readItems } from '../support/json-items.ts';
import type { ImportItem } from './format.ts';

export type Fields = Record<string, unknown>;

export const NOT_UTF8 = 'not UTF-8; --encoding latin1 or utf-16 says what else it is';

/** Problems name no value, which may be private. */
export function parseObject(text: string | null): { object: Fields } | { problem: string } {
  if (text === null) return { problem: 'too long' };
  if (text.includes(UNDECODED)) return { problem: NOT_UTF8 };
  try {
    const value: unknown = JSON.parse(markInexactNumbers(text));
    return isObject(value) ? { object: value } : { problem: 'not a JSON object' };
  } catch {
    return { problem: 'not valid JSON' };
  }
}

/** A memory to save without its line, or why there is none. */
export type Read = { fields: Fields } | { problem: string };

/** The memories that each object is. */
export async function* readObjects(
  chunks: AsyncIterable<string>,
  memoriesOf: (object: Fields) => Iterable<Read>,
): AsyncGenerator<ImportItem> {
  for await (const { line, text } of readItems(chunks)) {
    const read = parseObject(text);
    if ('problem' in read) yield { line, ...read };
    else {
      const items = [...memoriesOf(read.object)];
      for (const [at, item] of items.entries()) yield { line, part: (at + 1) / items.length, ...item };
    }
  }
}

interface Said {
  speaker: string;
  content: string;
  timestamp: unknown;
}

/** The messages of a conversation. One without a time follows the one before it. */
export function messagesOf(
  said: Said[],
  { thread, title, startedAt }: { thread: string; title: unknown; startedAt: unknown },
): Read[] {
  const envelope = typeof title === 'string' && title !== '' ? { conversation: title } : {};
  return said.map(({ speaker, content, timestamp }, at) => ({
    fields: {
      content,
      kind: 'message',
      thread_id: thread,
      speaker,
      timestamp: timestamp ?? (at === 0 ? startedAt : undefined),
      envelope,
    },
  }));
}
