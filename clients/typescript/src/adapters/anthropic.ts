// The memory tool of Anthropic's SDK (memory_20250818): each file is a memory of kind `document`, whose path is its `source_url`.
import { betaMemoryTool, type MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { L9Memory, Memory } from '../index.ts';
import { readAll, requireStored } from './shared.ts';

export interface MemoryToolOptions {
  /** The scope of the files. Default: `developer`. */
  scope?: string;
}

const ROOT = '/memories';
const DOC_TYPE = 'memory-file';
const NUMBER_WIDTH = 6;
const LEVELS = 2;

/**
 * The tool for `client.beta.messages.toolRunner({ tools: [memoryTool(memory)], … })`. Its files are in the project of the client. They
 * are found by searches, too, and everyone who may read that scope and project shares them.
 */
export const memoryTool = (memory: L9Memory, options: MemoryToolOptions = {}) =>
  betaMemoryTool(memoryToolHandlers(memory, options));

/** The commands of the tool, for programs that call `betaMemoryTool` themselves. */
export function memoryToolHandlers(memory: L9Memory, { scope }: MemoryToolOptions = {}): MemoryToolHandlers {
  const filesWhere = async (where: object) => {
    const filter = { kind: { equalTo: 'document' }, ...(scope ? { scope: { equalTo: scope } } : {}) };
    const found = memory.list({ filter, where: { doc_type: DOC_TYPE, ...where }, orderBy: ['UPDATED_AT_DESC'] });
    // Another agent may have a file of the same path beside it: the one that was changed last counts.
    const byPath = new Map<string, Memory>();
    for (const file of await readAll(found)) if (!byPath.has(pathOf(file))) byPath.set(pathOf(file), file);
    return byPath;
  };
  const fileAt = async (path: string) => (await filesWhere({ source_url: path })).get(path);
  const below = async (path: string) =>
    [...(await filesWhere({}))].filter(([at]) => at.startsWith(`${path}/`)).sort(([a], [b]) => (a < b ? -1 : 1));

  async function requireFile(given: string): Promise<Memory> {
    const path = normalize(given);
    const file = await fileAt(path);
    if (file) return file;
    if (path === ROOT || (await below(path)).length > 0) throw new Error(`The path ${given} is not a file.`);
    throw missing(given);
  }

  const write = (file: Memory, content: string) =>
    memory.update(file.packetId, { content, expectedVersion: file.updatedAt });

  return {
    async view({ path: given, view_range }) {
      const path = normalize(given);
      const file = path === ROOT ? undefined : await fileAt(path);
      if (file) return numberedFile(given, textOf(file), view_range);
      const files = await below(path);
      if (files.length === 0 && path !== ROOT) throw missing(given);
      return listing(path, files);
    },

    async create({ path: given, file_text }) {
      const path = normalize(given);
      if (path === ROOT || (await below(path)).length > 0) throw new Error(`The path ${given} is a directory`);
      if (await fileAt(path)) throw new Error(`File ${given} already exists`);
      const data = { title: nameOf(path), source_url: path, doc_type: DOC_TYPE, content: file_text };
      requireStored(await memory.saveMany([{ kind: 'document', data, ...(scope ? { scope } : {}) }]));
      return `File created successfully at: ${given}`;
    },

    async str_replace({ path, old_str, new_str }) {
      const file = await requireFile(path);
      const text = textOf(file);
      const places = placesOf(text, old_str);
      if (places.length === 0)
        throw new Error(`No replacement was performed, old_str \`${old_str}\` did not appear verbatim in ${path}.`);
      if (places.length > 1) {
        const lines = places.map((place) => lineAt(text, place)).join(', ');
        throw new Error(
          `No replacement was performed. Multiple occurrences of old_str \`${old_str}\` in lines: ${lines}. Please ensure it is unique`,
        );
      }
      const [place] = places as [number];
      const changed = `${text.slice(0, place)}${new_str}${text.slice(place + old_str.length)}`;
      await write(file, changed);
      const line = lineAt(text, place);
      const snippet = numbered(changed.split('\n'), Math.max(1, line - 2), line + 2);
      return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`;
    },

    async insert({ path, insert_line, insert_text }) {
      const file = await requireFile(path);
      const lines = textOf(file).split('\n');
      if (insert_line < 0 || insert_line > lines.length)
        throw new Error(
          `Invalid \`insert_line\` parameter: ${insert_line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
        );
      lines.splice(insert_line, 0, insert_text.replace(/\n$/, ''));
      await write(file, lines.join('\n'));
      return `The file ${path} has been edited.`;
    },

    async delete({ path: given }) {
      const path = normalize(given);
      if (path === ROOT) throw new Error(`Cannot delete the ${ROOT} directory itself`);
      const file = await fileAt(path);
      const doomed = file ? [file] : (await below(path)).map(([, inside]) => inside);
      if (doomed.length === 0) throw missing(given);
      for (const { packetId } of doomed) await memory.delete(packetId);
      return `Successfully deleted ${given}`;
    },

    async rename({ old_path, new_path }) {
      const [from, to] = [normalize(old_path), normalize(new_path)];
      if (from === ROOT) throw new Error(`Cannot rename the ${ROOT} directory itself`);
      if (to === from || to.startsWith(`${from}/`)) throw new Error(`Cannot move ${old_path} into itself`);
      if (to === ROOT || (await fileAt(to)) || (await below(to)).length > 0)
        throw new Error(`The destination ${new_path} already exists`);
      const file = await fileAt(from);
      const moved: [string, Memory][] = file ? [[from, file]] : await below(from);
      if (moved.length === 0) throw missing(old_path);
      for (const [path, { packetId }] of moved) {
        const target = `${to}${path.slice(from.length)}`;
        await memory.update(packetId, { envelope: { title: nameOf(target), source_url: target } });
      }
      return `Successfully renamed ${old_path} to ${new_path}`;
    },
  };
}

const missing = (path: string) => new Error(`The path ${path} does not exist. Please provide a valid path.`);
const pathOf = ({ envelope }: Memory) => String(envelope.source_url);
const textOf = ({ content }: Memory) => content ?? '';
const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/** The path without `.` and `..`. Nothing outside the root can be named, and a path outside it is an error. */
function normalize(path: string): string {
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '..' && names.pop() === undefined) throw outside(path);
    if (name !== '' && name !== '.' && name !== '..') names.push(name);
  }
  const normal = `/${names.join('/')}`;
  if (normal !== ROOT && !normal.startsWith(`${ROOT}/`)) throw outside(path);
  return normal;
}

const outside = (path: string) => new Error(`Path must start with ${ROOT}, got: ${path}`);

function placesOf(text: string, part: string): number[] {
  const places: number[] = [];
  if (part === '') return places;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}

const lineAt = (text: string, place: number) => text.slice(0, place).split('\n').length;

const numbered = (lines: string[], first: number, last: number) =>
  lines
    .slice(first - 1, last)
    .map((line, index) => `${String(first + index).padStart(NUMBER_WIDTH)}\t${line}`)
    .join('\n');

function numberedFile(path: string, text: string, range: number[] | undefined): string {
  const lines = text.split('\n');
  const [from = 1, to = -1] = range ?? [];
  return `Here's the content of ${path} with line numbers:\n${numbered(lines, Math.max(1, from), to === -1 ? lines.length : to)}`;
}

/** The files and folders of two levels, each with the bytes in it, as `du` shows them. */
function listing(path: string, files: [string, Memory][]): string {
  const sizes = new Map<string, number>([[path, 0]]);
  for (const [at, file] of files) {
    const bytes = new TextEncoder().encode(textOf(file)).length;
    const names = at.slice(path.length + 1).split('/');
    if (names.some((name) => name.startsWith('.') || name === 'node_modules')) continue;
    sizes.set(path, sizes.get(path)! + bytes);
    for (let level = 1; level <= Math.min(LEVELS, names.length); level += 1) {
      const entry = `${path}/${names.slice(0, level).join('/')}${level < names.length ? '/' : ''}`;
      sizes.set(entry, (sizes.get(entry) ?? 0) + bytes);
    }
  }
  const lines = [...sizes].map(([entry, bytes]) => `${readable(bytes)}\t${entry}`);
  return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${lines.join('\n')}`;
}

function readable(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1_024 ** power).toFixed(1))}${'BKMG'[power]}`;
}
