// Runs the programs that `.ci/cluster install` unpacks.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const project = join(import.meta.dirname, '..', '..');
const script = join(project, '.ci', 'cluster');
// The user that the programs run as.
const USER = 999;

/** The folder of the programs; null if they are not there or can't be run by this user. */
export function programs(): string | null {
  try {
    return execFileSync('bash', [script, 'path'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;
  }
}

/** A folder of configurations, data and logs, and the programs that run on it. */
export interface Workplace {
  /** The folder as this process sees it. */
  folder: string;
  /** The same file or folder as a program sees it. */
  inside(name: string): string;
  write(name: string, text: string): void;
  /** Gives a file or folder to the user of the programs. */
  own(name: string): void;
  /** Starts a program, whose output goes to `<log>.log`. */
  run(log: string, program: string, ...args: string[]): ChildProcess;
  /** Ends all programs, and removes the folder. */
  close(): Promise<void>;
}

/** Throws where the programs can't be run. */
export function openWorkplace(root = programs()): Workplace {
  if (!root) throw new Error('needs the programs of `.ci/cluster install`, and root to run them');
  const folder = mkdtempSync(join(root, 'l9', 'test-'));
  chownSync(folder, USER, USER);
  const running = new Set<ChildProcess>();
  const inside = (name: string) => `${folder.slice(root.length)}/${name}`;
  const own = (name: string) => chownSync(join(folder, name), USER, USER);
  return {
    folder,
    inside,
    write(name, text) {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      own(name);
    },
    own,
    run(log, program, ...args) {
      const output = openSync(join(folder, `${log}.log`), 'a');
      const child = spawn('bash', [script, 'run', program, ...args], { stdio: ['ignore', output, output] });
      running.add(child);
      child.once('exit', () => running.delete(child));
      return child;
    },
    async close() {
      await Promise.all([...running].map((child) => end(child)));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks a program to end, and kills it if it does not within ten seconds. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}

/** Whether something listens on this port of 127.0.0.1. */
export const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

let next = 20_000 + Math.floor(Math.random() * 9_000);

/** A port that nothing listens on, out of those that systems do not give to clients. */
export async function freePort(): Promise<number> {
  while (await isListening(next)) next += 1;
  return next++;
}

/** Waits until something listens on the port; rejects if that program ends before. */
export async function listening(port: number, child: ChildProcess): Promise<void> {
  while (!(await isListening(port))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`a program ended before port ${port} was open`);
    await sleep(100);
  }
}
