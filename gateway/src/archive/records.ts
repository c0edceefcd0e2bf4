// The objects of JSON lines, of a JSON array, or the one object of a document that stands on several lines.
import { type Fields, isFields } from './session.ts';

export interface RecordReader {
  records(): AsyncGenerator<Fields>;
  /** How many objects were read. */
  count(): number;
  /** How many lines (of an array: elements) hold no object: cut short, glued together, or written over when the machine went down. */
  skipped(): number;
}

export function createRecordReader(chunks: AsyncIterable<string> | Iterable<string>): RecordReader {
  let count = 0;
  let skipped = 0;

  function* objects(values: Iterable<unknown>): Generator<Fields> {
    for (const value of values) {
      if (isFields(value)) {
        count += 1;
        yield value;
      } else skipped += 1;
    }
  }

  async function* records(): AsyncGenerator<Fields> {
    // A first line that opens something and is no object may begin a document, which only its end tells.
    let document: string[] | null = null;
    let isFirst = true;
    for await (const line of linesOf(chunks)) {
      if (document) document.push(line);
      if (document || !/\S/.test(line)) continue;
      const value = parse(line);
      if (isFirst && !isFields(value) && /^\s*[{[]/.test(line)) document = [line];
      else yield* objects([value]);
      isFirst = false;
    }
    if (!document) return;
    const whole = parse(document.join('\n'));
    if (Array.isArray(whole)) yield* objects(whole);
    else if (isFields(whole)) yield* objects([whole]);
    else yield* objects(eachParsed(document));
  }

  return { records, count: () => count, skipped: () => skipped };
}

async function* linesOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  // A document of one long line comes in many chunks, which are joined once.
  let open: string[] = [];
  let isFirst = true;
  const line = () => {
    const text = open.join('');
    const first = isFirst;
    isFirst = false;
    return first ? text.replace(/^\uFEFF/, '') : text;
  };
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.split('\n');
    open.push(first);
    for (const next of others) {
      yield line();
      open = [next];
    }
  }
  if (open.some((part) => part !== '')) yield line();
}

function* eachParsed(lines: readonly string[]): Generator<unknown> {
  for (const line of lines) if (/\S/.test(line)) yield parse(line);
}

/** Undefined if it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
