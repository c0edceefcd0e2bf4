// Tells what a file that is imported is, and reads it.
import { readItems } from '../support/json-items.ts';
import { chatgpt } from './chatgpt.ts';
import { claude } from './claude.ts';
import { csv } from './csv.ts';
import type { FormatName, ImportFormat, ImportItem } from './format.ts';
import { hindsight } from './hindsight.ts';
import { markdown } from './markdown.ts';
import { mem0 } from './mem0.ts';
import { memories } from './memories.ts';
import { parseObject } from './objects.ts';
import { serverMemory } from './server-memory.ts';
import { session } from './session.ts';

export { FORMATS, type FormatName } from './format.ts';

/** The most particular first: the last takes what no other recognises. */
const formats: readonly ImportFormat[] = [
  markdown,
  chatgpt,
  claude,
  serverMemory,
  mem0,
  hindsight,
  session,
  csv,
  memories,
];

/** So much of a file is looked at to tell what it is. */
const LOOK_AT_CHARACTERS = 256 * 1024;

const PIECE_CHARACTERS = 4 * 1024;

/** Reads a file in the format that is named, or else in the one that recognises it. Tells of the characters that the format takes. */
export async function* readImport(
  name: string,
  chunks: AsyncGenerator<string>,
  from: FormatName | undefined,
  onTaken: (characters: number) => void,
): AsyncGenerator<ImportItem> {
  let head = '';
  while (head.length < LOOK_AT_CHARACTERS) {
    const next = await chunks.next();
    if (next.done) break;
    head += next.value;
  }
  async function* whole() {
    yield* inPieces(head);
    for await (const chunk of chunks) yield* inPieces(chunk);
  }
  // In small pieces, so that what is taken is about what the items so far were made of.
  function* inPieces(text: string) {
    for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
      const piece = text.slice(from, from + PIECE_CHARACTERS);
      onTaken(piece.length);
      yield piece;
    }
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
