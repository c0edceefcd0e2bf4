// What the front matter of a Markdown file says of it, as Obsidian, Jekyll, Hugo and others write it: title, tags, aliases, date.
import { CORE_SCHEMA, load } from 'js-yaml';
import { parse, TomlDate } from 'smol-toml';
import { readTime } from '../../input/times.ts';

/** Where it begins and ends is as in documents.find_marks(), which keeps headings out of it. */
const KINDS = [
  {
    language: 'YAML',
    pattern: /^\uFEFF?---[ \t]*\r?\n([ \t]*[^ \t\r\n][\s\S]{0,20000}?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/,
    read: (yaml: string): unknown => load(yaml, { schema: CORE_SCHEMA, json: true }),
  },
  {
    language: 'TOML',
    pattern: /^\uFEFF?\+\+\+[ \t]*\r?\n([ \t]*[^ \t\r\n][\s\S]{0,20000}?\n)\+\+\+[ \t]*(?:\r?\n|$)/,
    read: parse,
  },
];
const MAX_TITLE = 500;
// The database takes no memory from a later time.
const MAX_AHEAD_MS = 4 * 60_000;

export interface FrontMatter {
  title?: string;
  tags: string[];
  aliases: string[];
  timestamp?: string;
  /** What it says that could not be used. */
  notices: string[];
  /** How many characters of the text it takes; 0 if there is none that can be read. */
  length: number;
}

export function readFrontMatter(text: string): FrontMatter {
  const read: FrontMatter = { tags: [], aliases: [], notices: [], length: 0 };
  const kind = KINDS.find(({ pattern }) => pattern.test(text));
  if (!kind) return read;
  let fields: Map<string, unknown>;
  try {
    const value = kind.read(kind.pattern.exec(text)![1]!);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return read;
    read.length = kind.pattern.exec(text)![0].length;
    fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  } catch {
    read.notices.push(`its front matter is no valid ${kind.language} and was not used`);
    return read;
  }
  const title = textOf(fields.get('title'));
  if (title) read.title = title.slice(0, MAX_TITLE).replace(/[\uD800-\uDBFF]$/, '');
  read.tags = listOf(fields.get('tags') ?? fields.get('tag'), /,/, /\s+/).map((tag) => tag.replace(/^#+/, ''));
  read.aliases = listOf(fields.get('aliases') ?? fields.get('alias'), /,/);
  const written = fields.get('date');
  // As it was written, because a date of TOML may have no zone.
  const date = written instanceof TomlDate ? written.toISOString() : written;
  if (date === undefined || date === null || date === '') return read;
  const given = readTime(date);
  if (!given) read.notices.push('the date in its front matter could not be read');
  else if (Date.parse(given.time) > Date.now() + MAX_AHEAD_MS)
    read.notices.push('the date in its front matter is in the future and was not used');
  else {
    read.timestamp = given.time;
    if (!given.hasZone) read.notices.push('the date in its front matter has no zone and was read as UTC');
  }
  return read;
}

const textOf = (value: unknown): string =>
  (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '').trim();

/** A list, or one text that is cut at the first of these separators that it holds. */
function listOf(value: unknown, ...separators: RegExp[]): string[] {
  const separator = typeof value === 'string' ? separators.find((one) => one.test(value.trim())) : undefined;
  const values = Array.isArray(value) ? value : separator ? String(value).split(separator) : [value];
  return [...new Set(values.map(textOf).filter(Boolean))];
}
