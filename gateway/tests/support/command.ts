// Runs `l9-memory …`, as a separate process or in this one.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { PATIENT } from './home.ts';
import { SHORT_LIVED } from './short-lived.ts';

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

const envOf = ({ home, env = {} }: Pick<How, 'home' | 'env'>) => ({
  ...process.env,
  ...SHORT_LIVED,
  ...PATIENT,
  ...env,
  L9_MEMORY_HOME: home,
});

export const spawnCommand = (args: string[], how: Pick<How, 'home' | 'env'>) =>
  spawn(process.execPath, [cli, ...args], { env: envOf(how) });

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

/** The last command that runs in this process. It has the environment and the streams of the process to itself. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, which has loaded the program already. Tests of what a command does and prints use it. Tests of
 * standard input and of the end of the process use `runCommand`.
 */
export function runCommandHere(args: string[], how: Omit<How, 'closesStdout'>): Promise<Ended> {
  const ended = last.then(() => runAlone(args, how));
  last = ended.catch(() => {});
  return ended;
}

async function runAlone(args: string[], how: Pick<How, 'home' | 'env'>): Promise<Ended> {
  const ended: Ended = { code: 0, out: '', err: '' };
  const { stdin } = process;
  const before = { env: process.env, exitCode: process.exitCode, asks: stdin.isTTY };
  const streams = [
    { stream: process.stdout, as: 'out' as const },
    { stream: process.stderr, as: 'err' as const },
  ].map(({ stream, as }) => ({ stream, as, write: stream.write, isTTY: stream.isTTY }));
  for (const { stream, as } of streams) {
    stream.isTTY = false;
    stream.write = ((part: string | Uint8Array, ...more: unknown[]) => {
      ended[as] += typeof part === 'string' ? part : Buffer.from(part).toString();
      const done = more.find((one) => typeof one === 'function') as (() => void) | undefined;
      if (done) process.nextTick(done);
      return true;
    }) as typeof stream.write;
  }
  stdin.isTTY = false;
  process.env = envOf(how);
  process.exitCode = 0;
  try {
    await withoutExit(createProgram()).parseAsync(args, { from: 'user' });
    ended.code = Number(process.exitCode);
  } catch (error) {
    if (error instanceof CommanderError) ended.code = error.exitCode;
    else {
      ended.err += `l9-memory: ${(error as Error).message}\n`;
      ended.code = 1;
    }
  } finally {
    for (const { stream, write, isTTY } of streams) Object.assign(stream, { write, isTTY });
    stdin.isTTY = before.asks;
    process.env = before.env;
    process.exitCode = before.exitCode;
  }
  return ended;
}

/** Wrong arguments end the process, unless the command is told otherwise. */
function withoutExit(command: Command): Command {
  command.exitOverride();
  for (const part of command.commands) withoutExit(part as Command);
  return command;
}
