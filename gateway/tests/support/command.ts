// Runs `l9-memory …` as a separate process.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const cli = join(import.meta.dirname, '..', '..', 'src', 'cli.ts');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export const spawnCommand = (args: string[], { home }: { home: string }) =>
  spawn(process.execPath, [cli, ...args], { env: { ...process.env, L9_MEMORY_HOME: home } });

export function runCommand(args: string[], { home, stdin = '' }: { home: string; stdin?: string }): Promise<Ended> {
  const child = spawnCommand(args, { home });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (data) => {
    ended.out += data;
  });
  child.stderr.on('data', (data) => {
    ended.err += data;
  });
  // It may end without reading.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ended, code })));
}
