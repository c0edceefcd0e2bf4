// The project of the folder in which an editor started the stdio process.
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface InferredProject {
  project: string | null;
  /** Why there is none. */
  reason: string | null;
}

const REMEDY = 'so calls that name no project_id have no default. Set L9_PROJECT to give them one.';

/** The project that the environment names, or else the name of the Git working copy that holds the folder. */
export function inferProject(named: string | null, folder: string): InferredProject {
  if (named !== null) return { project: named, reason: null };
  const root = rootOfWorkingCopy(folder);
  if (root === null) return { project: null, reason: `the folder belongs to no Git repository, ${REMEDY}` };
  const project = basename(root);
  if (/^[A-Za-z0-9._@+-]{1,200}$/.test(project)) return { project, reason: null };
  return { project: null, reason: `the name of the Git working copy cannot be a project_id, ${REMEDY}` };
}

function rootOfWorkingCopy(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    // In a linked worktree or a submodule it is a file.
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return null;
  }
}
