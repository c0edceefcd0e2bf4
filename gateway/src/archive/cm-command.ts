// Asks the `cm` command of cass-memory, where it is installed, for what it has on a session.
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { KnownError } from '../base/errors.ts';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;

const failed = (reason: string) => new KnownError('L9VAL', `session: ${reason}`, 'session');

/** The path of an executable on PATH; null if there is none. */
export function findCommand(name: string, env: NodeJS.ProcessEnv): string | null {
  const ends = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  for (const folder of (env.PATH ?? '').split(delimiter).filter(Boolean)) {
    for (const end of ends) {
      const path = join(folder, name + end);
      try {
        accessSync(path, constants.X_OK);
        if (statSync(path).isFile()) return path;
      } catch {
        // Not in this folder.
      }
    }
  }
  return null;
}

/** What `cm context SESSION --json` prints. */
export function contextOfSession(session: string, env: NodeJS.ProcessEnv, timeoutMs = TIMEOUT_MS): Promise<string> {
  if (session.startsWith('-')) throw failed('must not begin with a hyphen');
  const command = findCommand('cm', env);
  if (!command) throw failed('the command cm is not installed: it is not on PATH');
  return new Promise((resolve, reject) => {
    const child = spawn(command, ['context', session, '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const parts: Buffer[] = [];
    let size = 0;
    let reason: string | null = null;
    const end = (why: string) => {
      reason ??= why;
      child.kill('SIGKILL');
      // A grandchild may hold the pipe open.
      child.stdout.destroy();
    };
    const timer = setTimeout(() => end(`cm did not answer within ${timeoutMs / 1_000} s`), timeoutMs);
    child.stdout.on('data', (part: Buffer) => {
      size += part.length;
      if (size > MAX_BYTES) end(`cm printed more than ${MAX_BYTES} bytes`);
      else parts.push(part);
    });
    child.once('error', () => end('cm could not be started'));
    child.once('close', (code) => {
      clearTimeout(timer);
      if (reason !== null) reject(failed(reason));
      else if (code !== 0) reject(failed(`cm failed (exit code ${code})`));
      else resolve(Buffer.concat(parts).toString('utf8'));
    });
  });
}
