// The Markdown files of a folder, without those that Git ignores.
import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readFileWithin, reasonOfRefusal, UnreadableFile } from '../../input/files.ts';
import { decodeUtf8 } from '../../input/text.ts';
import { rootOfWorkingCopy } from '../../mcp/working-copy.ts';

/** As the database limits it. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_RULES_BYTES = 1024 * 1024;
const SKIPPED = new Set(['node_modules', '.git']);

export interface Found {
  path: string;
  /** The path from the top of the Git working copy, or else from the folder that was given, with slashes: the source_url of the document. */
  source: string;
}

/** The files of a folder, and what could not be looked at. */
export interface Listing {
  found: Found[];
  problems: { path: string; problem: string }[];
  /** How the sources begin of files that may be there or not. */
  unknown: string[];
}

interface Rules {
  folder: string;
  rules: Ignore;
}

export const isMarkdown = (path: string) => /\.(md|markdown|mdx)$/i.test(path);

export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    // A path that does not exist is not a folder.
    reasonOfRefusal(error);
    return false;
  }
}

/** The paths of sources start here. Null for a folder outside a Git working copy: then they start in the folder that was given. */
export const topOf = (path: string): string | null =>
  rootOfWorkingCopy(isFolder(path) ? resolve(path) : dirname(resolve(path)));

/** A path as the source of a document says it. */
export const sourceOf = (top: string, path: string) => relative(top, resolve(path)).split(sep).join('/');

/** A file that is given itself, or the Markdown files of a folder and those below it, in order. A file that can't be read does not hide the others. */
export function findMarkdown(root: string): Listing {
  const isInFolder = isFolder(root);
  const top = topOf(root) ?? (isInFolder ? resolve(root) : dirname(resolve(root)));
  if (!isInFolder) return { found: [{ path: root, source: sourceOf(top, root) }], problems: [], unknown: [] };
  const listing: Listing = { found: [], problems: [], unknown: [] };
  const leaveOut = (path: string, error: unknown) => {
    listing.problems.push({ path, problem: reasonOfRefusal(error) });
    listing.unknown.push(sourceOf(top, path));
  };
  const walk = (folder: string, above: Rules[]) => {
    let rules: Rules[];
    let entries: Dirent<Buffer>[];
    try {
      entries = readdirSync(folder, { encoding: 'buffer', withFileTypes: true });
      // Without its rules the files of a folder that its owner excluded would be stored.
      rules = [...above, ...rulesOf(folder)];
    } catch (error) {
      return leaveOut(folder, error);
    }
    for (const entry of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
      const name = entry.name.toString('utf8');
      const path = join(folder, name);
      const isFolder = entry.isDirectory();
      if (SKIPPED.has(name) || !(isFolder || (entry.isFile() && isMarkdown(name)))) continue;
      if (isIgnored(path, isFolder, rules)) continue;
      // A source_url is a text, so a name that is no UTF-8 has none.
      if (decodeUtf8(entry.name) === null)
        listing.problems.push({
          path: join(folder, escaped(entry.name)),
          problem: `the name of this ${isFolder ? 'folder' : 'file'} is not UTF-8`,
        });
      else if (isFolder) walk(path, rules);
      else listing.found.push({ path, source: sourceOf(top, path) });
    }
  };
  try {
    walk(root, rulesAbove(resolve(root)));
  } catch (error) {
    leaveOut(root, error);
  }
  return listing;
}

/** A name with its bytes that are no UTF-8 as \xE9. */
const escaped = (name: Buffer) =>
  name.toString('latin1').replace(/[^\x20-\x7e]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Those of the folders above it, up to the Git working copy that holds it. */
function rulesAbove(root: string): Rules[] {
  const folders: string[] = [];
  for (let at = root; !existsSync(join(at, '.git')); at = dirname(at)) {
    if (dirname(at) === at) return [];
    folders.unshift(dirname(at));
  }
  return folders.flatMap(rulesOf);
}

function rulesOf(folder: string): Rules[] {
  const file = join(folder, '.gitignore');
  if (!existsSync(file)) return [];
  try {
    const rules = ignore().add(readFileWithin(file, MAX_RULES_BYTES).toString('utf8'));
    return [{ folder: resolve(folder), rules }];
  } catch (error) {
    throw new UnreadableFile(folder, `left out, because its .gitignore can't be used: ${reasonOfRefusal(error)}`);
  }
}

/** The deepest file that says anything about it decides. */
function isIgnored(path: string, isFolder: boolean, rules: Rules[]): boolean {
  for (const { folder, rules: own } of [...rules].reverse()) {
    const tested = own.test(relative(folder, resolve(path)).split(sep).join('/') + (isFolder ? '/' : ''));
    if (tested.ignored || tested.unignored) return tested.ignored;
  }
  return false;
}

/** The text, byte for byte but for the line ends of old Macs, or why it can be no document. */
export function readMarkdown(path: string): { text: string } | { problem: string } {
  let bytes: Buffer;
  try {
    bytes = readFileWithin(path, MAX_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { problem: error.reason };
  }
  const text = decodeUtf8(bytes);
  if (text === null) return { problem: 'not UTF-8' };
  if (text.includes('\0')) return { problem: 'holds the character NUL' };
  if (!/\S/.test(text.replace('\ufeff', ''))) return { problem: 'blank' };
  // Everything after the first heading would be one line.
  return { text: text.includes('\n') ? text : text.replaceAll('\r', '\n') };
}
