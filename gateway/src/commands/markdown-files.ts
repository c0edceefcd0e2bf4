// The Markdown files of a folder, without those that Git ignores.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { rootOfWorkingCopy } from '../mcp/working-copy.ts';

/** As the database limits it. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_TITLE = 500;
const SKIPPED = new Set(['node_modules', '.git']);

export interface Found {
  path: string;
  /** The path from the top of the Git working copy, or else from the folder that was given, with slashes: the source_url of the document. */
  source: string;
}

interface Rules {
  folder: string;
  rules: Ignore;
}

export const isMarkdown = (path: string) => /\.(md|markdown|mdx)$/i.test(path);

/** The paths of sources start here. Null for a folder outside a Git working copy: then they start in the folder that was given. */
export const topOf = (path: string): string | null =>
  rootOfWorkingCopy(statSync(path).isDirectory() ? resolve(path) : dirname(resolve(path)));

/** A path as the source of a document says it. */
export const sourceOf = (top: string, path: string) => relative(top, resolve(path)).split(sep).join('/');

/** A file that is given itself, or the Markdown files of a folder and those below it, in order. */
export function findMarkdown(root: string): Found[] {
  const isFolder = statSync(root).isDirectory();
  const top = topOf(root) ?? (isFolder ? resolve(root) : dirname(resolve(root)));
  if (!isFolder) return [{ path: root, source: sourceOf(top, root) }];
  const found: Found[] = [];
  const walk = (folder: string, above: Rules[]) => {
    const rules = [...above, ...rulesOf(folder)];
    const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (SKIPPED.has(entry.name) || isIgnored(path, entry.isDirectory(), rules)) continue;
      if (entry.isDirectory()) walk(path, rules);
      else if (entry.isFile() && isMarkdown(entry.name)) found.push({ path, source: sourceOf(top, path) });
    }
  };
  walk(root, rulesAbove(resolve(root)));
  return found;
}

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
  return existsSync(file) ? [{ folder: resolve(folder), rules: ignore().add(readFileSync(file, 'utf8')) }] : [];
}

/** The deepest file that says anything about it decides. */
function isIgnored(path: string, isFolder: boolean, rules: Rules[]): boolean {
  for (const { folder, rules: own } of [...rules].reverse()) {
    const tested = own.test(relative(folder, resolve(path)).split(sep).join('/') + (isFolder ? '/' : ''));
    if (tested.ignored || tested.unignored) return tested.ignored;
  }
  return false;
}

/** The text, byte for byte, or why it can be no document. */
export function readMarkdown(path: string): { text: string } | { problem: string } {
  const bytes = readFileSync(path);
  if (bytes.length > MAX_BYTES)
    return { problem: `too large: at most ${MAX_BYTES} bytes (4 MiB), got ${bytes.length}` };
  let text: string;
  try {
    // ignoreBOM keeps the mark at the start.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { problem: 'not UTF-8' };
  }
  if (text.includes('\0')) return { problem: 'holds the character NUL' };
  return /\S/.test(text.replace('\ufeff', '')) ? { text } : { problem: 'blank' };
}

/** The first heading outside fenced code, or else the name of the file. */
export function titleOf(text: string, source: string): string {
  let fence: string | null = null;
  for (const line of text.replace('\ufeff', '').split(/\r?\n/)) {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (marks?.startsWith(fence) && /^[ `~]*$/.test(line)) fence = null;
    } else if (marks) fence = marks;
    else {
      const heading = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/.exec(line)?.[1];
      if (heading && /\S/.test(heading)) return heading.trim().slice(0, MAX_TITLE);
    }
  }
  return basename(source).slice(0, MAX_TITLE);
}
