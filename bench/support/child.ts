// Runs a server in a separate process, so that it does not share a thread with the load generator.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

export interface ServerProcess {
  url: string;
  /** The time from the fork until it serves. */
  startSeconds: number;
  /** Resident memory at present, in MB. */
  memory(): number;
  /** Processor time until now, in seconds. */
  processorTime(): number;
  /** Asks the process for figures of its own. */
  ask<Answer>(): Promise<Answer>;
  close(): Promise<void>;
}

/** Runs a module that sends `{ url }` to its parent when it serves. `stop` ends it. */
export async function startServerProcess(module: string, env: Record<string, string>): Promise<ServerProcess> {
  const started = performance.now();
  const child = fork(module, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : [],
  });
  const exited = once(child, 'exit');
  const url = await Promise.race([
    once(child, 'message').then(([message]) => (message as { url: string }).url),
    exited.then(([code]) => {
      throw new Error(`${module} ended with ${code} before it served`);
    }),
  ]);
  return {
    url,
    startSeconds: (performance.now() - started) / 1_000,
    memory: () => residentMegabytes(child.pid!),
    processorTime: () => processorSeconds(child.pid!),
    async ask<Answer>() {
      const answer = once(child, 'message');
      child.send('figures');
      return (await answer)[0] as Answer;
    },
    async close() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(statOf(entry)[1]) === pid)
    .map(Number);

/** What /proc says of a process from its state on; nothing if it has ended. */
// The name of a process, in brackets, may hold blanks.
const statOf = (pid: string | number): string[] => procFile(pid, 'stat').split(') ').at(-1)!.split(' ');

const TICKS_PER_SECOND = 100;
const USER_TIME = 11;

/** Of a process, its children, and those that have ended and were waited for, in seconds. */
export function processorSeconds(pid: number): number {
  const ticks = (of: number, count: number) =>
    statOf(of)
      .slice(USER_TIME, USER_TIME + count)
      .reduce((sum, value) => sum + Number(value), 0);
  return (ticks(pid, 4) + childrenOf(pid).reduce((sum, child) => sum + ticks(child, 2), 0)) / TICKS_PER_SECOND;
}

/** 0 for a process that has just ended. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(procFile(pid, 'status'))?.[1];
  return Number(kilobytes ?? 0) / 1024;
}

/** What processes take together: pages of a file that they share, such as Node's program, count once. */
export function residentTogether(pids: readonly number[]): number {
  const shared = pids.map(sharedByFile);
  const files = new Set(shared.flatMap((of) => [...of.keys()]));
  const twice = [...files].map((file) => {
    const each = shared.map((of) => of.get(file) ?? 0);
    return each.reduce((sum, kilobytes) => sum + kilobytes, 0) - Math.max(...each);
  });
  const all = pids.reduce((sum, pid) => sum + residentMegabytes(pid), 0);
  return all - twice.reduce((sum, kilobytes) => sum + kilobytes, 0) / 1024;
}

/** The kilobytes of each file that a process shares with others. */
function sharedByFile(pid: number): Map<string, number> {
  const kilobytes = new Map<string, number>();
  let file = '';
  for (const line of procFile(pid, 'smaps').split('\n')) {
    const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(\/.*)?$/.exec(line);
    if (mapping) file = mapping[1] ?? '';
    const shared = file && /^Shared_(?:Clean|Dirty):\s+(\d+) kB$/.exec(line)?.[1];
    if (shared) kilobytes.set(file, (kilobytes.get(file) ?? 0) + Number(shared));
  }
  return kilobytes;
}

/** What /proc says of a process; empty if it has ended. */
function procFile(pid: string | number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
