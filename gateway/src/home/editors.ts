// What `l9-memory install` did for each editor: the key that was made for it, which `mcp --caller` and `hook` look up here by the name of
// the editor, and how each file was before.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeHome } from './folder.ts';
import { causeOf, codeOf, HomeProblem } from './problem.ts';

/** How a file of settings was before it was changed. */
export interface ChangedFile {
  /** The hash of the former text; null: there was no file. */
  before: string | null;
  /** The hash of the text that was written. */
  after: string;
  /** Whether the former text is also what is left without our entries: nobody else changed the file in between. */
  isExact: boolean;
  /** The folders that were made for it, the outermost first. */
  folders: string[];
  /** The values that ours took the place of, by their paths in JSON. */
  replaced: Record<string, unknown>;
  /** The paths of the objects and lists that were there before. */
  had: string[];
}

export interface InstalledEditor {
  caller: string;
  keyId?: string | undefined;
  apiKey?: string | undefined;
  files: Record<string, ChangedFile>;
}

export type InstalledEditors = Record<string, InstalledEditor>;

const pathIn = (home: string) => join(home, 'editors.json');

export function readEditors(home: string): InstalledEditors {
  const path = pathIn(home);
  try {
    const found: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as InstalledEditors;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    if (!(error instanceof SyntaxError)) throw new HomeProblem(path, `cannot be read, ${causeOf(error)}`, WAY_OUT);
  }
  throw new HomeProblem(path, 'is not valid JSON', WAY_OUT);
}

const WAY_OUT = 'move it away, and run `l9-memory install` again: it makes new keys';

export function writeEditors(home: string, editors: InstalledEditors): void {
  makeHome(home);
  const path = pathIn(home);
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  writeFileSync(file, `${JSON.stringify(editors, null, 2)}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(draft, path);
}

/** The key that was made for an editor, or null. */
export function keyOfEditor(home: string, name: string): string | null {
  const editors = readEditors(home);
  return (Object.hasOwn(editors, name) && editors[name]?.apiKey) || null;
}
