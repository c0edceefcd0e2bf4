// Runs a server in a separate process, so that it does not share a thread with the load generator.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

export interface ServerProcess {
  url: string;
  /** The time from the fork until it serves. */
  startSeconds: number;
  /** Resident memory at present, in MB. */
  memory(): number;
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
    async close() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
