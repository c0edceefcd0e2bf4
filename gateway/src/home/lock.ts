// One data folder, one process: two that open the same PGlite folder would destroy it. The lock is the kernel's (a
// transaction on a SQLite file), so it goes with its process however that ends, and sleeping through it loses nothing.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
    super(
      holder
        ? `${home} is in use: process ${holder.pid} serves it at ${holder.url}${holder.onDemand ? ' (started by an editor)' : ''}`
        : `${home} is in use by a process that is still starting`,
    );
    this.holder = holder;
  }
}

const holderPath = (home: string) => join(home, 'server.json');

/** The process that last announced itself for this folder; it may be gone. */
export function readHolder(home: string): Holder | null {
  try {
    return JSON.parse(readFileSync(holderPath(home), 'utf8')) as Holder;
  } catch {
    return null;
  }
}

/** Takes the folder for this process, or throws HomeLocked. */
export async function lockHome(home: string): Promise<HomeLock> {
  const { DatabaseSync } = await import('node:sqlite');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(home, 'lock'));
  try {
    file.exec('pragma busy_timeout = 0; begin exclusive');
  } catch {
    file.close();
    throw new HomeLocked(home, readHolder(home));
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
      rmSync(holderPath(home), { force: true });
      file.close();
    },
  };
}
