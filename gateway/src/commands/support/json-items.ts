// Reads objects from a stream of JSON lines or of one JSON array, and keeps only one of them in memory.
import { withPlainLineEnds } from '../../input/text.ts';

const MAX_ITEM_CHARACTERS = 16 * 1024 * 1024;

/** The text of one object and the line it starts on. The text is null if it is too long. */
export interface Item {
  line: number;
  text: string | null;
}

const LISTS = new Set(['results', 'memories', 'memory_units', 'items']);

/** Where the list begins in the object that a whole file is, as in {"relations": [], "results": [ … ]}; null if it is no such object. */
function listIn(head: string): number | null {
  if (!/^\s*\{/.test(head)) return null;
  let depth = 0;
  let key = '';
  for (const { index, 0: sign, 1: text } of head.matchAll(/"((?:[^"\\]|\\.)*)"|[[\]{}]/g)) {
    if (text !== undefined) {
      if (depth === 1) key = text;
      // This is a memory, whatever its other fields are.
      if (depth === 1 && key === 'content') return null;
    } else if (sign === '[' || sign === '{') {
      if (sign === '[' && depth === 1 && LISTS.has(key)) return index;
      depth += 1;
    } else {
      depth -= 1;
      if (depth === 0) return null;
    }
  }
  return null;
}

/**
 * A stream that begins with [ is an array, as is the list in {"results": [ … ]}. If the first object goes over several lines, objects
 * follow each other. Any other stream is lines, of which blank ones are skipped.
 */
export async function* readItems(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  const iterator = withPlainLineEnds(chunks);
  let head = '';
  let isOver = false;
  const readUntil = async (isEnough: () => boolean) => {
    while (!isOver && !isEnough()) {
      const next = await iterator.next();
      isOver = next.done === true;
      if (!next.done) head += next.value;
    }
  };
  async function* whole() {
    yield head;
    yield* iterator;
  }
  // A byte order mark counts as blank.
  await readUntil(() => /\S/.test(head));
  const list = listIn(head);
  if (list !== null) {
    const line = head.slice(0, list).split('\n').length;
    head = head.slice(list);
    yield* elements(whole(), line, true);
    return;
  }
  if (head.trimStart().startsWith('[')) {
    yield* elements(whole());
    return;
  }
  if (head.trimStart().startsWith('{')) {
    const ends = endsOfObject();
    let end = -1;
    let looked = 0;
    await readUntil(() => {
      end = ends(head.slice(looked));
      if (end >= 0) end += looked;
      looked = head.length;
      return end >= 0 || head.length > MAX_ITEM_CHARACTERS;
    });
    const first = head.slice(0, end + 1).trim();
    if (end >= 0 && first.includes('\n') && isJson(first)) {
      yield* documents(whole());
      return;
    }
  }
  yield* lines(whole());
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.trim());
    return true;
  } catch {
    return false;
  }
}

/** Looks through a text in parts for the sign that ends its first object; -1 while it is open. */
function endsOfObject(): (part: string) => number {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  return (part) => {
    for (let at = 0; at < part.length; at++) {
      const char = part[at];
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (char === '\\') isEscaped = true;
        else if (char === '"') inString = false;
      } else if (char === '"') inString = true;
      else if (char === '{' || char === '[') depth += 1;
      else if ((char === '}' || char === ']') && --depth <= 0) return at;
    }
    return -1;
  };
}

/** Objects over several lines each, one after the other. */
async function* documents(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  const item = collector();
  let ends = endsOfObject();
  let line = 1;
  let start = 0;
  const linesIn = (text: string) => text.split('\n').length - 1;
  for await (let chunk of chunks) {
    while (chunk !== '') {
      if (start === 0) {
        const blank = /^[\s\uFEFF,]*/.exec(chunk)![0];
        line += linesIn(blank);
        chunk = chunk.slice(blank.length);
        if (chunk === '') break;
        start = line;
      }
      const end = ends(chunk);
      const part = end < 0 ? chunk : chunk.slice(0, end + 1);
      item.add(part);
      line += linesIn(part);
      chunk = chunk.slice(part.length);
      if (end < 0) continue;
      yield { line: start, text: item.take() ?? null };
      start = 0;
      ends = endsOfObject();
    }
  }
  const text = item.take();
  if (start > 0 && text !== undefined) yield { line: start, text };
}

/** Collects the text of one item, up to the limit. */
function collector() {
  let text = '';
  let isTooLong = false;
  return {
    add(part: string) {
      if (text.length + part.length > MAX_ITEM_CHARACTERS) isTooLong = true;
      text = isTooLong ? '' : text + part;
    },
    /** Returns the collected text, or undefined if it is blank, and starts the next item. */
    take(): string | null | undefined {
      const taken = isTooLong ? null : text.trim() || undefined;
      text = '';
      isTooLong = false;
      return taken;
    },
  };
}

async function* lines(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  const item = collector();
  let line = 1;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      item.add(chunk.slice(from, end));
      const text = item.take();
      if (text !== undefined) yield { line, text };
      line += 1;
      from = end + 1;
    }
    item.add(chunk.slice(from));
  }
  const text = item.take();
  if (text !== undefined) yield { line, text };
}

/** Splits at the commas between elements, so that a broken element does not affect those after it. */
async function* elements(chunks: AsyncIterable<string>, line = 1, isInside = false): AsyncGenerator<Item> {
  const item = collector();
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let start = 0;
  for await (const chunk of chunks) {
    let from = depth > 0 ? 0 : chunk.length;
    for (let at = 0; at < chunk.length; at++) {
      const char = chunk[at] as string;
      if (char === '\n') line += 1;
      if (depth === 1 && start === 0 && char !== ',' && char !== ']' && /\S/.test(char)) start = line;
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (char === '\\') isEscaped = true;
        else if (char === '"') inString = false;
      } else if (depth > 0 && char === '"') {
        inString = true;
      } else if (char === '[' || char === '{') {
        depth += 1;
        if (depth === 1) from = at + 1;
      } else if (depth === 1 && (char === ',' || char === ']')) {
        item.add(chunk.slice(from, at));
        const text = item.take();
        if (text !== undefined) yield { line: start, text };
        start = 0;
        from = at + 1;
        if (char === ']' && isInside) return;
        if (char === ']') {
          depth = 0;
          from = chunk.length;
        }
      } else if (depth > 1 && (char === ']' || char === '}')) {
        depth -= 1;
      }
    }
    item.add(chunk.slice(from));
  }
  const text = item.take();
  if (text !== undefined) yield { line: start || line, text };
}
