// The project, branch and org of the folder in which an editor started the stdio process.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isBranch, isProject } from '../input/names.ts';

const GIT_WITHIN_MS = 5_000;

export interface Place {
  project: string | null;
  branch: string | null;
  org: string | null;
}

export interface WorkingCopy extends Place {
  /** What could not be inferred and why, in one message. Null: nothing is missing but perhaps an org. */
  reason: string | null;
}

/** The project that is named, or else that of the Git working copy that holds the folder. */
export function inferProject(named: string | null, folder: string): string | null {
  const name = basename(rootOfWorkingCopy(folder) ?? '');
  return named ?? (isProject(name) ? name : null);
}

/** The environment goes before the Git working copy that holds the folder. */
export function inferWorkingCopy(named: Place, folder: string, env: NodeJS.ProcessEnv = process.env): WorkingCopy {
  const root = rootOfWorkingCopy(folder);
  const inferred: WorkingCopy =
    root === null
      ? { project: null, branch: null, org: null, reason: 'the folder belongs to no Git repository' }
      : ofRepository(root, env);
  const place = {
    project: named.project ?? inferred.project,
    branch: named.branch ?? inferred.branch,
    org: named.org ?? inferred.org,
  };
  const missing = [
    ...(place.project === null ? [['project_id', 'L9_PROJECT', 'project default']] : []),
    ...(place.branch === null ? [['branch', 'L9_BRANCH', 'every branch']] : []),
  ];
  const listed = (at: number, by: string) => missing.map((one) => one[at]).join(by);
  const remedy = `so calls that name no ${listed(0, ' or ')} have no default of their own: a save goes to ${listed(2, ' and ')}. Set ${listed(1, ' and ')} to give them one.`;
  return { ...place, reason: missing.length > 0 ? `${inferred.reason}, ${remedy}` : null };
}

function ofRepository(root: string, env: NodeJS.ProcessEnv): WorkingCopy {
  const project = inferProject(null, root);
  const reasons = project === null ? ['the name of the Git working copy cannot be a project_id'] : [];
  let branch: string | null = null;
  let org: string | null = null;
  try {
    const git = gitIn(root, env);
    branch = git('symbolic-ref', '--quiet', '--short', 'HEAD');
    if (branch === null) reasons.push('no branch is checked out (HEAD is detached)');
    else if (!isBranch(branch)) branch = null;
    org = ownerOf(git('config', '--get-regexp', '^remote\\..*\\.url$') ?? '');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    reasons.push(isMissing ? 'Git is not installed' : 'Git cannot read the repository');
  }
  return { project, branch, org, reason: reasons.join(' and ') || 'the branch has a name that no memory can have' };
}

/** Runs Git in a working copy. Null: it ended with code 1, which says that there is no such thing. Throws if it cannot run. */
const gitIn =
  (root: string, env: NodeJS.ProcessEnv) =>
  (...args: string[]): string | null => {
    try {
      return execFileSync('git', ['-C', root, ...args], {
        encoding: 'utf8',
        env,
        timeout: GIT_WITHIN_MS,
        stdio: 'pipe',
      }).trim();
    } catch (error) {
      if ((error as { status?: number }).status === 1) return null;
      throw error;
    }
  };

/** The owner in the URL of the remote `origin`, or of the first one, such as acme in git@host:acme/site.git. */
function ownerOf(remotes: string): string | null {
  const urls = remotes.split('\n').map((line) => /^remote\.(.*)\.url (.*)$/.exec(line));
  const url = (urls.find((match) => match?.[1] === 'origin') ?? urls[0])?.[2] ?? '';
  const path = /^[a-z+]+:\/\/[^/]+\/(.+)$/i.exec(url)?.[1] ?? /^[^/:]{2,}:(?!\/\/)\/?(.+)$/.exec(url)?.[1] ?? '';
  const [owner, ...repository] = path.split('/');
  return owner && repository.length > 0 && isProject(owner) ? owner : null;
}

/** The top folder of the Git working copy that holds a folder. */
export function rootOfWorkingCopy(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    // In a linked worktree or a submodule it is a file.
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return null;
  }
}
