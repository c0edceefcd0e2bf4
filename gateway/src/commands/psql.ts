import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { type Config, ConfigError, loadConfig } from '../config.ts';
import { psqlSocket } from '../database/psql-socket.ts';

/** Runs psql on the database of this installation, and returns its exit code. */
export async function psql(env: NodeJS.ProcessEnv, args: string[]): Promise<number> {
  let config: Config;
  try {
    config = loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const socket = psqlSocket(config.home);
  if (!config.databaseUrl && !(await answers(socket.path))) {
    process.stderr.write(
      `no server of ${config.home} is running, and the embedded engine runs in the server: start one with \`npm start\`\n`,
    );
    return 1;
  }

  const url = new URL(config.databaseUrl ?? socket.url);
  const password = decodeURIComponent(url.password);
  url.password = '';
  // The password is passed in the environment, because other users of this machine can read arguments.
  const child = spawn(config.psql, [`--dbname=${url.href}`, ...args], {
    stdio: 'inherit',
    env: { ...env, ...(password ? { PGPASSWORD: password } : {}) },
  });
  // Ctrl-C is handled by psql, which cancels its query.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    process.stderr.write(
      `${config.psql} was not found on this machine. Install PostgreSQL's client (apt install postgresql-client, ` +
        `brew install libpq, https://www.postgresql.org/download), or name the program in PSQL.\n` +
        `Any other client can be used too: ${url.href}\n`,
    );
    return 127;
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** True if a server listens. A server that was killed leaves its socket file behind. */
const answers = (path: string) =>
  new Promise<boolean>((resolve) => {
    const connection = createConnection(path);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
