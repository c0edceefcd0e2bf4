// The Python of this machine, for tests of the client and of examples. Where there is none that is recent enough, they are skipped.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';

const LEAST = '3.10';
export const pythonClient = join(import.meta.dirname, '..', '..', '..', 'clients', 'python');

function find(): string | null {
  for (const program of ['python3', 'python']) {
    try {
      const isRecent = 'import sys; sys.exit(sys.version_info < (3, 10))';
      execFileSync(program, ['-c', isRecent], { stdio: 'ignore' });
      return program;
    } catch {}
  }
  return null;
}

const program = find();

/** Runs `describe` where there is a Python. Elsewhere the tests are skipped, and their name gives the reason. */
export function describeWithPython(name: string, tests: () => void): void {
  if (program) describe(name, tests);
  else describe.skip(`${name} (skipped: no Python ${LEAST} or newer in the PATH)`, tests);
}

/** Runs Python on the client's folder, and gives its standard output. Fails with all that it printed where it fails. */
export function runPython(args: string[], env: NodeJS.ProcessEnv = {}, stdin = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program!,
      args,
      {
        cwd: pythonClient,
        env: { ...process.env, PYTHONPATH: pythonClient, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1', ...env },
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, out, said) => (error ? reject(new Error(`python ${args.join(' ')}:\n${out}${said}`)) : resolve(out)),
    );
    child.stdin!.on('error', () => {});
    child.stdin!.end(stdin);
  });
}
