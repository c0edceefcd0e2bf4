// PostgreSQL servers of a test's own: a primary, and replicas that stream from it.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from '../../db/tests/support/eventually.ts';
import { freePort, type Workplace } from './programs.ts';

export interface Server {
  port: number;
  /** The process whose children serve its connections. */
  pid(): number;
  /** Its data, as this process sees it. */
  folder: string;
  /** The URL of a superuser. */
  url: string;
  /** Ends it as a machine does that loses its power. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  query(text: string): Promise<pg.QueryResult>;
}

async function succeeds(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`a program ended with ${code}`);
}

async function startServer(place: Workplace, name: string, more: Record<string, string>): Promise<Server> {
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let child: ChildProcess;
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: place.inside(''),
    shared_preload_libraries: 'pg_textsearch',
    fsync: 'off',
    shared_buffers: '64MB',
    ...more,
  };
  const server: Server = {
    port,
    folder: join(place.folder, name),
    url,
    // The script replaces itself by the program.
    pid: () => child.pid!,
    async start() {
      const options = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
      child = place.run(name, 'postgres', '-D', place.inside(name), ...options);
      await eventually(async () => {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ${name} ended`);
        return server.query('select 1').then(
          () => true,
          () => false,
        );
      });
    },
    async kill() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    async query(text) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      try {
        return await client.query(text);
      } finally {
        await client.end();
      }
    },
  };
  await server.start();
  return server;
}

/** `settings`: of PostgreSQL, beside those of a test. */
export async function startPrimary(
  place: Workplace,
  settings: Record<string, string> = {},
  name = 'primary',
): Promise<Server> {
  const options = ['-A', 'trust', '-U', 'postgres', '--locale-provider=builtin', '--locale=C.UTF-8', '--no-sync'];
  await succeeds(place.run('initdb', 'initdb', '-D', place.inside(name), ...options));
  return startServer(place, name, settings);
}

export async function startReplica(
  place: Workplace,
  primary: Server,
  name: string,
  settings: Record<string, string> = {},
): Promise<Server> {
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'];
  const options = ['-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  await succeeds(place.run('basebackup', 'pg_basebackup', '-D', place.inside(name), ...from, ...options));
  return startServer(place, name, settings);
}
