// Tells what a file that is imported is, and reads it.
import { readItems } from '../support/json-items.ts';
import { chatgpt } from './chatgpt.ts';
import { csv } from './csv.ts';
import type { FormatName, ImportFormat, ImportItem } from './format.ts';
import { mem0 } from './mem0.ts';
import { memories } from './memories.ts';
import { parseObject } from './objects.ts';
import { serverMemory } from './server-memory.ts';
import { session } from './session.ts';

export { FORMATS, type FormatName } from './format.ts';

/** The most particular first: the last takes what no other recognises. */
const formats: readonly ImportFormat[] = [chatgpt, serverMemory, mem0, session, csv, memories];

/** So much of a file is looked at to tell what it is. */
const LOOK_AT_CHARACTERS = 256 * 1024;

/** Reads a file in the format that is named, or else in the one that recognises it. */
export async function* readImport(
  name: string,
  chunks: AsyncGenerator<string>,
  from: FormatName | undefined,
): AsyncGenerator<ImportItem> {
  let head = '';
  while (head.length < LOOK_AT_CHARACTERS) {
    const next = await chunks.next();
    if (next.done) break;
    head += next.value;
  }
  async function* whole() {
    yield head;
    yield* chunks;
  }
  const first = await firstIn(head);
  const format = formats.find((one) => (from ? one.name === from : one.recognises({ name, first, head })))!;
  yield* format.read(whole(), name);
}

async function firstIn(head: string): Promise<Record<string, unknown> | null> {
  for await (const { text } of readItems(of(head))) {
    const read = parseObject(text);
    return 'object' in read ? read.object : null;
  }
  return null;
}

async function* of(text: string) {
  yield text;
}
