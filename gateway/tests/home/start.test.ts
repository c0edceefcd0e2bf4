import { existsSync, rmSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { lockHome, readHolder } from '../../src/home/lock.ts';
import { createProcessHome, main, type ProcessHome, pidAt, type Running } from './processes.ts';

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome();
});
afterAll(() => home.close());

const isFree = async () => (await lockHome(home.home)).release();

async function end(server: Running) {
  server.process.kill('SIGTERM');
  expect(await server.exit).toBe(0);
}

/** A request whose body is still to come: it is in flight until `finish`. */
async function openRequest(url: string) {
  const asked = request(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${home.key('C')}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  });
  const status = new Promise<number | undefined>((resolve) => {
    asked.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', () => resolve(undefined));
  });
  asked.write('{"jsonrpc":"2.0","id":1,');
  await sleep(200);
  return {
    finish: () => {
      asked.end('"method":"tools/list"}');
      return status;
    },
  };
}

describe('a server', () => {
  it('says where it is, to its owner alone, and leaves the folder free when it ends', async () => {
    const server = await home.serve();
    const holder = readHolder(home.home);
    expect([holder?.pid, holder?.url, holder?.onDemand]).toStrictEqual([server.pid, server.url, false]);
    for (const file of ['server.json', 'credentials.json', 'lock']) {
      expect(statSync(join(home.home, file)).mode & 0o777, file).toBe(0o600);
    }
    expect(server.stdout + server.stderr).not.toMatch(/SQLite is an experimental/);
    await end(server);
    expect(existsSync(join(home.home, 'server.json'))).toBe(false);
    await isFree();
  });

  it('keeps a second one off its folder, which says who is there', async () => {
    const server = await home.serve();
    const second = home.run([main]);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`in use: process ${server.pid} serves it at ${server.url}\n`));
    expect(second.stderr).not.toMatch(/editor/);
    expect(await pidAt(server.url)).toBe(server.pid);
    await end(server);
  });

  it('started by an editor, tells a second one so, and what to do', async () => {
    const server = await home.serve(['--on-demand']);
    const second = home.run([main]);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(/An editor started it/);
    expect(second.stderr).toMatch(new RegExp(`kill ${server.pid}`));
    const third = home.run([main, '--on-demand']);
    expect(await third.exit, 'of several started by editors, those that are not needed end well').toBe(0);
    await end(server);
  });

  it('ends in good order when it is told to while it starts', async () => {
    // The file appears anew when the server takes the folder, long before it is ready.
    rmSync(join(home.home, 'lock'), { force: true });
    const server = home.run([main]);
    await eventually(() => existsSync(join(home.home, 'lock')));
    server.process.kill('SIGTERM');
    expect(await server.exit, server.stderr).toBe(0);
    expect(server.stdout).not.toMatch(/is ready/);
    await isFree();
    await end(await home.serve());
  });

  it('says that its port is taken, and lets go of everything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await eventually(() => other.listening);
      const PORT = String((other.address() as AddressInfo).port);
      const server = home.run([main], { PORT });
      expect(await server.exit).toBe(1);
      expect(server.stderr).toMatch(/^PORT: something else listens there already/);
      await isFree();
      const onDemand = await home.serve(['--on-demand'], { PORT });
      expect(new URL(onDemand.url).port, 'an editor is content with any port').not.toBe(PORT);
      await end(onDemand);
    } finally {
      other.close();
    }
  });

  it('says that its database is not there, without its password', async () => {
    const server = home.run([main], { DATABASE_URL: 'postgres://l9_gateway:hush-hush@127.0.0.1:1/nowhere' });
    expect(await server.exit).toBe(1);
    expect(server.stderr).toMatch(/could not start: .*ECONNREFUSED/);
    expect(server.stdout + server.stderr).not.toMatch(/hush-hush/);
    await isFree();
  });

  it('answers what is in flight before it ends', async () => {
    const server = await home.serve();
    const asked = await openRequest(server.url);
    server.process.kill('SIGTERM');
    await eventually(() =>
      fetch(`${server.url}/health`).then(
        () => false,
        () => true,
      ),
    );
    expect(await asked.finish()).toBe(200);
    expect(await server.exit).toBe(0);
  });

  it('ends at once on a second signal', async () => {
    const server = await home.serve();
    const asked = await openRequest(server.url);
    server.process.kill('SIGTERM');
    await sleep(1_500);
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(143);
    await asked.finish();
    await isFree();
  });

  itOnServer('shares a database server with others, each on its own folder', async () => {
    const other = await createProcessHome();
    try {
      const DATABASE_URL = home.env.DATABASE_URL as string;
      const servers = await Promise.all([home.serve(), other.serve([], { DATABASE_URL })]);
      expect(await pidAt(servers[0].url)).not.toBe(await pidAt(servers[1].url));
      await Promise.all(servers.map(end));
    } finally {
      await other.close();
    }
  });
});
