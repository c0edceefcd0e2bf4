// The objects of JSON lines, of a JSON array, or the one object of a document that stands on several lines.
import { withPlainLineEnds } from '../input/text.ts';
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
    else yield* objects(document.filter((line) => !BETWEEN.test(line)).map(parse));
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
  for await (const chunk of withPlainLineEnds(chunks)) {
    const [first = '', ...others] = chunk.split('\n');
    open.push(first);
    for (const next of others) {
      yield line();
      open = [next];
    }
  }
  if (open.some((part) => part !== '')) yield line();
}

/** Blank, or the beginning or end of an array that was cut short. */
const BETWEEN = /^[\s[\]]*$/;

/** Undefined if it is no JSON. */
function parse(text: string): unknown {
  for (const candidate of [text, withoutSigns(text)]) {
    try {
      return JSON.parse(candidate);
    } catch {
      // It is tried without the signs around it, and then skipped.
    }
  }
  return undefined;
}

/** A line without the mark that begins each text of a JSON sequence, and without the signs of an array that was cut short. */
const withoutSigns = (line: string) =>
  line
    .trim()
    .replace(/^\p{Cc}?\[?/u, '')
    .replace(/[,\]]$/, '');
