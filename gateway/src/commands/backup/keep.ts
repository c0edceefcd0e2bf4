// Which backups go when only the newest are kept: those beside the new one whose names differ from its name in digits only, such as
// those of a date. What does not begin as a backup does is never deleted.
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BackupProblem, draftOf, firstLineOf } from './file.ts';

const MOST = 10_000;

/** The number of --keep. */
export function readKeep(keep: string | undefined, name: string): number | null {
  if (keep === undefined) return null;
  if (!/^[1-9]\d{0,4}$/.test(keep) || Number(keep) > MOST)
    throw new BackupProblem(`--keep: a number from 1 to ${MOST}`);
  if (!/\d/.test(name))
    throw new BackupProblem(
      '--keep: name a folder instead of a file, or a file with a date in its name, so that names differ',
    );
  return Number(keep);
}

/** Any digits in the place of the digits of a name. */
const likeName = (name: string, escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) => escaped.replace(/\d/g, '\\d');

/** Deletes all but the newest backups of this one's folder and pattern. Returns the names of those that are gone. */
export async function deleteOld(path: string, keep: number): Promise<string[]> {
  const folder = dirname(path);
  const pattern = new RegExp(`^${likeName(basename(path))}$`);
  const backups: { name: string; createdAt: string }[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() || !pattern.test(entry.name) || entry.name === basename(path)) continue;
    const first = await firstLineOf(join(folder, entry.name)).catch(() => null);
    if (first) backups.push({ name: entry.name, createdAt: first.createdAt });
  }
  const old = backups.sort((a, b) => b.createdAt.localeCompare(a.createdAt)).slice(keep - 1);
  for (const { name } of old) rmSync(join(folder, name));
  return old.map(({ name }) => name);
}

/** Deletes the drafts of backups of this pattern whose process was killed. */
export function deleteDrafts(path: string): void {
  const pattern = new RegExp(`^${likeName(basename(draftOf(path, 'PID'))).replace('PID', '(\\d+)')}$`);
  for (const name of readdirSync(dirname(path))) {
    const [, pid] = pattern.exec(name) ?? [];
    if (pid && !isAlive(Number(pid))) rmSync(join(dirname(path), name), { force: true });
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
