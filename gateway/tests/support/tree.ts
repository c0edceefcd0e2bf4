import { createHash } from 'node:crypto';
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Everything in a folder, or the file of this name: kind, mode, owner, and the hash of its bytes, by path. */
export function treeOf(path: string): Record<string, string> {
  const tree: Record<string, string> = {};
  const visit = (at: string) => {
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (!found) return;
    const about = `${found.mode.toString(8)} ${found.uid}`;
    if (found.isSymbolicLink()) tree[at] = `link to ${readlinkSync(at)}`;
    else if (found.isFile()) tree[at] = `${about} ${createHash('sha256').update(readFileSync(at)).digest('hex')}`;
    else tree[at] = about;
    if (found.isDirectory()) for (const name of readdirSync(at)) visit(join(at, name));
  };
  visit(path);
  return tree;
}

/**
 * Everything in a folder, or the file of this name, by path below it, as the file system tells without its bytes being read: a file that
 * was written, even with the same bytes, has another time.
 */
export function stampsOf(path: string): Map<string, string> {
  const stamps = new Map<string, string>();
  const visit = (name: string) => {
    const found = stampOf(join(path, name));
    if (!found) return;
    stamps.set(name, found.stamp);
    if (found.isFolder) for (const child of readdirSync(join(path, name))) visit(join(name, child));
  };
  visit('');
  return stamps;
}

function stampOf(path: string): { stamp: string; isFolder: boolean } | null {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (!found) return null;
  const about = `${found.mode.toString(8)} ${found.uid}`;
  const isFolder = found.isDirectory();
  return { isFolder, stamp: isFolder ? about : `${about} ${found.ino} ${found.size} ${found.mtimeNs}` };
}

/** Makes a copy the same as its original again by what differs from its stamps, and returns its new stamps. */
export function restoreCopy(origin: string, copy: string, stamps: ReadonlyMap<string, string>): Map<string, string> {
  const now = stampsOf(copy);
  const restored = new Map(stamps);
  for (const name of now.keys()) {
    if (!stamps.has(name)) rmSync(join(copy, name), { recursive: true, force: true });
  }
  for (const [name, stamp] of stamps) {
    if (now.get(name) === stamp) continue;
    const from = join(origin, name);
    rmSync(join(copy, name), { recursive: true, force: true });
    for (const below of now.keys()) if (name === '' || below.startsWith(`${name}/`)) now.delete(below);
    if (lstatSync(from).isDirectory()) mkdirSync(join(copy, name), { mode: lstatSync(from).mode });
    else cpSync(from, join(copy, name));
    restored.set(name, stampOf(join(copy, name))!.stamp);
  }
  return restored;
}
