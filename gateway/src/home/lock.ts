// Only one process may use a data folder: two would corrupt the data of PGlite. The lock is a transaction on a SQLite
// file, which the kernel releases when the process ends in any way, and which survives suspending the machine.
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeHome } from './folder.ts';
import { HomeProblem } from './problem.ts';

export interface Holder {
  pid: number;
  url: string;
  /** The id that its GET /health shows. */
  instance: string;
  startedAt: string;
  /** Started by an editor. It ends when no client is attached any more. */
  onDemand: boolean;
}

export interface HomeLock {
  /** Writes where this process can be reached. */
  announce(holder: Omit<Holder, 'pid' | 'startedAt'>): void;
  release(): void;
}

export class HomeLocked extends Error {
  readonly holder: Holder | null;
  constructor(home: string, holder: Holder | null) {
    super(holder ? describe(home, holder) : `${home} is in use by a process that is still starting or ending`);
    this.holder = holder;
  }
}

const describe = (home: string, { pid, url, onDemand }: Holder) =>
  `${home} is in use: process ${pid} serves it at ${url}${
    onDemand
      ? `\nAn editor started it, and it ends ten minutes after the last editor (LINGER_SECONDS). To run one that keeps running, stop it with \`kill ${pid}\` and start again: editors switch to the new one.`
      : ''
  }`;

const holderPath = (home: string) => join(home, 'server.json');

/** The process that last announced itself for this folder, or null if it has ended. */
export function readHolder(home: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(holderPath(home), 'utf8')) as Holder;
    return isAlive(holder.pid) ? holder : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

/**
 * Takes the folder for this process, or throws HomeLocked. `check` throws if the folder can't be used, and then nothing in it is
 * changed: it is called under the lock, and also before the file of the lock is made.
 */
export async function lockHome(home: string, check: () => void = () => {}): Promise<HomeLock> {
  const DatabaseSync = await sqlite();
  const path = join(home, 'lock');
  if (!existsSync(path)) check();
  makeHome(home);
  let file: InstanceType<typeof DatabaseSync> | null = null;
  try {
    file = new DatabaseSync(path);
    file.exec('pragma busy_timeout = 0; begin exclusive');
    check();
    // chmod by name, because opening and closing the file here would release a lock that this process already holds.
    chmodSync(path, 0o600);
  } catch (error) {
    file?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === undefined) throw error;
    if (errcode === SQLITE_BUSY) throw new HomeLocked(home, readHolder(home));
    if (errcode === SQLITE_FULL) throw Object.assign(new Error(path), { code: 'ENOSPC' });
    throw new HomeProblem(path, `cannot be locked, ${message}`, 'delete it while no server uses the folder');
  }
  rmSync(holderPath(home), { force: true });
  return {
    announce(holder) {
      const draft = `${holderPath(home)}.${process.pid}`;
      const whole: Holder = { pid: process.pid, startedAt: new Date().toISOString(), ...holder };
      writeFileSync(draft, `${JSON.stringify(whole)}\n`, { mode: 0o600 });
      renameSync(draft, holderPath(home));
    },
    release() {
      if (!file.isOpen) return;
      rmSync(holderPath(home), { force: true });
      file.close();
    },
  };
}

/** Imports node:sqlite without the warning of Node 22 that it is experimental. */
async function sqlite() {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return (await import('node:sqlite')).DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}
