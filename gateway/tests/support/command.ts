// Runs `l9-memory …` as a separate process.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { PATIENT } from './home.ts';

const cli = join(import.meta.dirname, '..', '..', 'src', 'cli.ts');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

interface How {
  home: string;
  stdin?: string;
  env?: NodeJS.ProcessEnv;
  /** Whether nobody reads on after the first output, as with `head`. */
  closesStdout?: boolean;
}

export const spawnCommand = (args: string[], { home, env = {} }: Pick<How, 'home' | 'env'>) =>
  spawn(process.execPath, [cli, ...args], { env: { ...process.env, ...PATIENT, ...env, L9_MEMORY_HOME: home } });

export function runCommand(args: string[], { home, stdin = '', env = {}, closesStdout = false }: How): Promise<Ended> {
  const child = spawnCommand(args, { home, env });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (data) => {
    ended.out += data;
    if (closesStdout) child.stdout.destroy();
  });
  child.stderr.on('data', (data) => {
    ended.err += data;
  });
  // It may end without reading.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ended, code })));
}
