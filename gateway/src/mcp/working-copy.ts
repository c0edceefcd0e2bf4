// The project of the folder in which an editor started the stdio process.
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The name of the Git working copy that holds the folder, if it can be the id of a project; null outside of any. */
export function projectOfWorkingCopy(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    // In a linked worktree or a submodule it is a file.
    if (existsSync(join(at, '.git'))) return /^[A-Za-z0-9._@+-]{1,200}$/.test(basename(at)) ? basename(at) : null;
    if (dirname(at) === at) return null;
  }
}
