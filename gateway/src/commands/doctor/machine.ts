// What `l9-memory doctor` finds on this machine, whether a server runs or not.
import { existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { secretFiles } from '../../config/environment.ts';
import { credentialsPath } from '../../home/credentials.ts';
import { examineHome } from '../../home/examine.ts';
import { checkOwner } from '../../home/folder.ts';
import { type Check, note, well, whyOf, wrong } from './check.ts';

const OLDEST_NODE = [22, 18] as const;
const LITTLE_DISK_BYTES = 1024 ** 3;

export function ofNode(): Check {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  const isRecent = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return isRecent
    ? well('node', process.versions.node)
    : wrong('node', `${process.versions.node} is too old: install Node ${OLDEST_NODE.join('.')} or newer`);
}

export const ofSettings = ({ misspelt }: Config): Check[] =>
  misspelt.length === 0 ? [well('settings', 'no variable is misspelt')] : misspelt.map((one) => wrong('settings', one));

export function ofHome(config: Config): Check[] {
  const { home } = config;
  try {
    const { isDataGone } = examineHome(config);
    if (!existsSync(home)) return [note('home', `${home} does not exist yet: the first start makes it`)];
    checkOwner(home, statSync(home));
    if (isDataGone) return [wrong('home', `${home} has keys but no database: ${RESTORE}`)];
  } catch (error) {
    return [wrong('home', whyOf(error as Error))];
  }
  return [well('home', home)];
}

const RESTORE = 'bring a backup back with `l9-memory restore`, or name the right folder in L9_MEMORY_HOME';

// What mounts secrets into a container decides about their permissions.
const MOUNTED = /^\/(var\/)?run\//;

/** Files with keys that other users of this machine can read. */
export function ofKeys(env: NodeJS.ProcessEnv, { home }: Config): Check[] {
  const open = [home, credentialsPath(home), ...secretFiles(env).filter((path) => !MOUNTED.test(path))].flatMap(
    (path) => {
      const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077;
      return mode === 0 || process.platform === 'win32'
        ? []
        : [wrong('keys', `other users may open ${path}: \`chmod go= ${path}\``)];
    },
  );
  return open.length > 0 ? open : [well('keys', 'no other user can read them')];
}

/** The free disk space of the home folder, or of the folder in which it will be made. */
export function ofDisk({ home }: Config): Check {
  let folder = home;
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  return free < LITTLE_DISK_BYTES
    ? wrong('disk', `${Math.round(free / 1024 ** 2)} MB are left: make room before saves are refused`)
    : well('disk', `${Math.round(free / 1024 ** 3)} GB are left`);
}

export const isPortFree = ({ host, port }: Config): Promise<boolean> =>
  new Promise((resolve) => {
    const listening = createServer();
    listening.once('error', () => resolve(false));
    listening.listen(port, host, () => listening.close(() => resolve(true)));
  });
