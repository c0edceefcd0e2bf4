// The home folder itself: whether it can be used, without changing it, and how it is made.
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { causeOf, codeOf, HomeProblem } from './problem.ts';

const ANOTHER = 'or name another folder in L9_MEMORY_HOME';

/** Makes the folder if it is missing. */
export function makeHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'ENOSPC') throw error;
    if (codeOf(error) === 'EEXIST') throw notAFolder(home);
    throw new HomeProblem(home, `cannot be made, ${causeOf(error)}`, `make it yourself for this user, ${ANOTHER}`);
  }
}

/** Refuses a folder that this process cannot read and write. A missing one is made later. */
export function checkHome(home: string): void {
  let found: Stats;
  try {
    found = statSync(home);
  } catch (error) {
    const isLink = lstatSync(home, { throwIfNoEntry: false })?.isSymbolicLink();
    if (codeOf(error) === 'ENOENT' && !isLink) return;
    const cause = isLink ? `is a link to ${readlinkSync(home)}, and` : 'cannot be used,';
    throw new HomeProblem(home, `${cause} ${causeOf(error)}`, `mend the path, ${ANOTHER}`);
  }
  if (!found.isDirectory()) throw notAFolder(home);
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new HomeProblem(
      home,
      `cannot be written to, ${causeOf(error)}`,
      `give this user the folder with all that is in it, ${ANOTHER}`,
    );
  }
}

/** Refuses what belongs to another user. As root this process could use it, and would leave files that its owner can't open. */
export function checkOwner(path: string, { uid }: Pick<Stats, 'uid'>): void {
  const me = process.getuid?.();
  if (me === undefined || uid === me) return;
  throw new HomeProblem(
    path,
    `belongs to user ${uid}, and this process runs as user ${me}`,
    `start it as user ${uid}, or give this user all of it with \`chown -R ${me}\``,
  );
}

/** Opens a log to be written on. One of this size becomes `.1`, in the place of the former one. */
export function openLog(path: string, limitBytes: number): number {
  const file = openSync(path, 'a', 0o600);
  if (fstatSync(file).size < limitBytes) return file;
  closeSync(file);
  rmSync(`${path}.1`, { force: true });
  renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}

const notAFolder = (home: string) => new HomeProblem(home, 'is not a folder', `move the file away, ${ANOTHER}`);
