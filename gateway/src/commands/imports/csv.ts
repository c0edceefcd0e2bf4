// A table whose first line names the fields: content (or text, memory, note), and any of those of save_memory.
import { pipeline, Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import { UNDECODED } from '../../input/text.ts';
import { saveInput } from '../../operations/save-memory.ts';
import type { ImportFormat, ImportItem } from './format.ts';
import { NOT_UTF8 } from './objects.ts';

const CONTENT = ['content', 'text', 'memory', 'note'];
const LISTS = ['tags', 'parent_ids'];
/** Stands for UNDECODED in the parser, which encodes its input and would lose half of a surrogate pair. No text is to hold these. */
const UNDECODED_BYTES = '\uFFFF\uFFFE\uFFFF';
const LINE_END = /\r\n?|\n/;
const MAX_ROW_CHARACTERS = 16 * 1024 * 1024;

/** The field of save_memory that a column is, in any case of letters, or else its own name. */
function fieldOf(name: string): string {
  const lower = name.toLowerCase();
  if (CONTENT.includes(lower)) return 'content';
  return lower in saveInput.shape ? lower : name;
}

const namesIn = (line: string) =>
  line
    .replace('\uFEFF', '')
    .split(/[,;\t]/)
    .map((name) => name.trim().replace(/^"|"$/g, '').toLowerCase());

/** The separator that the first line has most of. */
const delimiterOf = (line: string) =>
  [',', ';', '\t'].toSorted((a, b) => line.split(b).length - line.split(a).length)[0]!;

export const csv: ImportFormat = {
  name: 'csv',
  recognises: ({ name, first, head }) =>
    first === null &&
    !/^\s*[[{]/.test(head) &&
    (/\.[ct]sv$/i.test(name) || namesIn(head.split(LINE_END)[0]!).some((field) => CONTENT.includes(field))),
  async *read(chunks): AsyncGenerator<ImportItem> {
    const iterator = chunks[Symbol.asyncIterator]();
    let head = '';
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      head += next.value;
      if (/[\r\n][^\r\n]/.test(head)) break;
    }
    async function* whole() {
      yield head.replaceAll(UNDECODED, UNDECODED_BYTES);
      for (let next = await iterator.next(); !next.done; next = await iterator.next())
        yield next.value.replaceAll(UNDECODED, UNDECODED_BYTES);
    }
    const parser = parse({
      columns: (names: string[]) => names.map((name) => name.trim()),
      delimiter: delimiterOf(head.split(LINE_END)[0]!),
      bom: true,
      info: true,
      relaxColumnCount: true,
      relaxQuotes: true,
      skipEmptyLines: true,
      maxRecordSize: MAX_ROW_CHARACTERS,
    });
    // An error of the file ends the parser, which throws it below.
    pipeline(Readable.from(whole(), { highWaterMark: 1 }), parser, () => {});
    let line = 2;
    try {
      for await (const { record, info } of parser as AsyncIterable<{ record: Record<string, string>; info: Info }>) {
        const fields: Record<string, unknown> = {};
        for (const [name, value] of Object.entries(record)) {
          if (value === '' || name === '') continue;
          // People write Tags, and mean the field.
          const field = fieldOf(name);
          if (LISTS.includes(field))
            fields[field] = value
              .split(/[;,|]/)
              .map((part) => part.trim())
              .filter(Boolean);
          else fields[field] ??= value;
        }
        const isUndecoded = Object.values(record).some((value) => value.includes(UNDECODED_BYTES));
        yield {
          line,
          ...(isUndecoded ? { problem: NOT_UTF8 } : { fields }),
        };
        line = info.lines + 1;
      }
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      yield { line, problem: 'not valid CSV from here on' };
    }
  },
};
