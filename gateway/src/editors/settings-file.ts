// Reads and writes the files of editors. A file is replaced as a whole or not at all, a link is followed and stays, and modes are kept.
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { causeOf, codeOf } from '../home/problem.ts';
import { SettingsProblem } from './problem.ts';

const MOST_LINKS = 40;

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A copy of the file as it was before. It can hold keys of others, so only its owner can read it. */
const backupOf = (file: string): string => `${file}.l9-memory-backup`;

/** The text of a file, or null if there is none. */
export function readSettings(file: string): string | null {
  try {
    const bytes = readFileSync(file);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) throw new SettingsProblem(file, 'it is not text in UTF-8');
    return text;
  } catch (error) {
    if (error instanceof SettingsProblem) throw error;
    if (codeOf(error) === 'ENOENT') return null;
    throw new SettingsProblem(file, `it cannot be read, ${causeOf(error)}`);
  }
}

/** Refuses what could not be written, before anything is. */
export function checkWritable(file: string): void {
  try {
    const target = targetOf(file);
    if (existsSync(target)) {
      // Root can write to it in any case, but the mode says that it is not to be changed.
      if (!statSync(target).isFile()) throw new SettingsProblem(file, 'it is not a file');
      if ((statSync(target).mode & 0o200) === 0) throw new SettingsProblem(file, 'it is read-only');
      accessSync(target, constants.W_OK);
    }
    accessSync(existingFolder(dirname(target)), constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof SettingsProblem) throw error;
    throw new SettingsProblem(file, `it cannot be written, ${causeOf(error)}`);
  }
}

/** Replaces a file, and returns the folders that it made for it, the outermost first. */
export function writeSettings(file: string, text: string, { isPrivate }: { isPrivate: boolean }): string[] {
  checkWritable(file);
  try {
    const target = targetOf(file);
    const made = makeFolders(dirname(target), isPrivate ? 0o700 : 0o755);
    const mode = existsSync(target) ? statSync(target).mode & 0o777 : isPrivate ? 0o600 : 0o644;
    replace(target, text, mode);
    return made;
  } catch (error) {
    throw new SettingsProblem(file, `it cannot be written, ${causeOf(error)}`);
  }
}

/** Returns the path of the backup. */
export function writeBackup(file: string, text: string): string {
  const path = backupOf(targetOf(file));
  replace(path, text, 0o600);
  return path;
}

export const readBackup = (file: string): string | null => readSettings(backupOf(targetOf(file)));

export const removeBackup = (file: string): void => rmSync(backupOf(targetOf(file)), { force: true });

/** Removes a file, and those of the folders that are empty then, the innermost first. */
export function removeSettings(file: string, folders: readonly string[]): void {
  rmSync(targetOf(file), { force: true });
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

function replace(target: string, text: string, mode: number): void {
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.l9-memory`);
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', mode);
  try {
    // The mode given above is cut down by the umask.
    fchmodSync(file, mode);
    writeFileSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** The file that a path leads to by links, which may not exist yet. */
function targetOf(file: string): string {
  let at = file;
  for (let links = 0; links < MOST_LINKS; links++) {
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) {
      const folder = dirname(at);
      return existsSync(folder) ? join(realpathSync(folder), basename(at)) : at;
    }
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new SettingsProblem(file, 'its links lead to each other');
}

const existingFolder = (folder: string): string => (existsSync(folder) ? folder : existingFolder(dirname(folder)));

function makeFolders(folder: string, mode: number): string[] {
  if (existsSync(folder)) return [];
  const made = [...makeFolders(dirname(folder), mode), folder];
  mkdirSync(folder, { mode });
  return made;
}
