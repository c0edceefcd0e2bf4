// One data folder, one process: two that open the same PGlite folder would destroy it. The lock is the kernel's (a
// transaction on a SQLite file), so it goes with its process however that ends, and sleeping through it loses nothing.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Holder {
  pid: number;
  url: string;
  startedAt: string;
  /** Started by an editor, and ends when nobody is attached any more. */
  onDemand: boolean;
}

export interface HomeLock {
  /** Says where this process can be reached. */
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
      ? `\nAn editor started it, and it ends by itself some seconds after the last editor. To have one that stays, end it with \`kill ${pid}\` and start again: editors go over to the new one.`
      : ''
  }`;

const holderPath = (home: string) => join(home, 'server.json');

/** The process that last announced itself for this folder, unless it is gone for certain. */
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

/** Takes the folder for this process, or throws HomeLocked. */
export async function lockHome(home: string): Promise<HomeLock> {
  const DatabaseSync = await sqlite();
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const path = join(home, 'lock');
  const file = new DatabaseSync(path);
  try {
    // By name: to open and close the file here would drop the lock, if this process holds it already.
    chmodSync(path, 0o600);
    file.exec('pragma busy_timeout = 0; begin exclusive');
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw new HomeLocked(home, readHolder(home));
    throw new Error(`${path} can't be locked: ${(error as Error).message}`);
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

/** node:sqlite, which Node 22 calls experimental at every start: no news to those who start a server. */
async function sqlite() {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return (await import('node:sqlite')).DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}
