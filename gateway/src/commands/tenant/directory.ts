// The directory of a proxy: a file with a line `route cell` for each tenant, in the format of HAProxy's maps.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TenantProblem } from './problem.ts';

const readDirectory = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new TenantProblem(`--directory: ${path} can't be read (${(error as NodeJS.ErrnoException).code})`);
  }
};

/** Throws for a directory that can't be changed, before anything is done. */
export function checkDirectory(path: string, cell: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(cell))
    throw new TenantProblem('--cell: the name of a cell as the directory has it: letters, digits, ., _ and -');
  readDirectory(path);
}

/** The text of a directory in which this route has this cell. Comments and other lines stay as they are. */
export function withCell(text: string, route: string, cell: string): string {
  const lines = text.split('\n');
  const isOf = (line: string) => line.trim().split(/\s+/)[0] === route;
  if (!lines.some(isOf)) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${route} ${cell}\n`;
  return lines.map((line) => (isOf(line) ? `${route} ${cell}` : line)).join('\n');
}

/** Writes the directory so that a reader finds the former or the new one, whole, even if this machine loses its power. */
export async function switchDirectory(path: string, route: string, cell: string): Promise<void> {
  const real = realpathSync(path);
  const text = readDirectory(real);
  const changed = withCell(text, route, cell);
  if (changed === text) return;
  const draft = join(dirname(real), `.${basename(real)}.${process.pid}.part`);
  try {
    const { mode, uid, gid } = statSync(real);
    const file = await open(draft, 'w', mode & 0o777);
    try {
      await file.writeFile(changed);
      await file.chown(uid, gid).catch(() => {});
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(draft, real);
    const folder = await open(dirname(real), 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    rmSync(draft, { force: true });
    throw new TenantProblem(`--directory: ${path} can't be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Runs the command that has the proxy read its directory again. */
export async function reload(command: string): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 2, 2] });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new TenantProblem(`--reload: the command failed (${signal ?? `exit code ${code}`})`);
}
