import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
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
