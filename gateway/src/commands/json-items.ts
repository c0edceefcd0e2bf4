// Reads objects from a stream of JSON lines or of one JSON array, and keeps only one of them in memory.

const MAX_ITEM_CHARACTERS = 16 * 1024 * 1024;

/** The text of one object and the line it starts on. The text is null if it is too long. */
export interface Item {
  line: number;
  text: string | null;
}

/** The list in the object that a whole file is, as in {"results": [ … ]}: only simple fields may stand before it. */
const WRAPPED =
  /^\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[\d.eE+-]+|true|false|null)\s*,\s*)*"(?:results|memories)"\s*:\s*(?=\[)/;

/** A stream that begins with [ is an array, as is the list in {"results": [ … ]}; any other is lines. Blank lines are skipped. */
export async function* readItems(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = '';
  let isOver = false;
  // A byte order mark counts as blank.
  while (!isOver && !/\S/.test(head)) {
    const next = await iterator.next();
    isOver = next.done === true;
    if (!isOver) head += next.value;
  }
  async function* whole() {
    yield head;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  const before = WRAPPED.exec(head)?.[0];
  if (before !== undefined) {
    head = head.slice(before.length);
    yield* elements(whole(), before.split('\n').length, true);
  } else yield* head.trimStart().startsWith('[') ? elements(whole()) : lines(whole());
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
