import { once } from 'node:events';
import { existsSync, rmSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded, describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { lockHome, readHolder } from '../../src/home/lock.ts';
import { createProcessHome, main, type ProcessHome, pidAt, type Running } from './processes.ts';

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome();
});
afterAll(() => home.close());

const isFree = async () => (await lockHome(home.home)).release();

/** A port that nothing listens on. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

async function end(server: Running) {
  server.process.kill('SIGTERM');
  expect(await server.exit).toBe(0);
}

type Serving = Awaited<ReturnType<ProcessHome['serve']>>;
/** The server that a test leaves to the next one, which is quicker than a new one each time. */
let left: Serving | undefined;
const leave = (server: Serving) => {
  left = server;
};
/** The server that was left, or a new one. The test ends it or leaves it. */
async function taken(args: string[] = []): Promise<Serving> {
  const server = left ?? (await home.serve(args));
  left = undefined;
  return server;
}

/** A request whose headers the server has read and whose body is incomplete: it is in flight until `finish`. */
async function openRequest(url: string) {
  const asked = request(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${home.key('C')}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      // The server answers `100 Continue` when it has read the headers.
      expect: '100-continue',
    },
  });
  const status = new Promise<number | undefined>((resolve) => {
    asked.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', () => resolve(undefined));
  });
  asked.flushHeaders();
  await once(asked, 'continue');
  asked.write('{"jsonrpc":"2.0","id":1,');
  return {
    finish: () => {
      asked.end('"method":"tools/list"}');
      return status;
    },
  };
}

/** Waits until the server accepts no connection any more: it has handled the signal. */
const isStopping = (url: string) =>
  eventually(() =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    ),
  );

describeOnEmbedded('a server', () => {
  it('keeps a second server off its folder, and tells it which process serves there', async () => {
    const server = await taken();
    const second = home.run([main]);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`in use: process ${server.pid} serves it at ${server.url}\n`));
    expect(second.stderr).not.toMatch(/editor/);
    expect(await pidAt(server.url)).toBe(server.pid);
    leave(server);
  });

  it('writes its address for the owner only, and releases the folder when it ends', async () => {
    const server = await taken();
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

  it('shuts down cleanly when a signal arrives during the start', async () => {
    // The file is created when the server locks the folder, long before it is ready.
    rmSync(join(home.home, 'lock'), { force: true });
    const server = home.run([main]);
    await eventually(() => existsSync(join(home.home, 'lock')));
    server.process.kill('SIGTERM');
    expect(await server.exit, server.stderr).toBe(0);
    expect(server.stdout).not.toMatch(/is ready/);
    await isFree();
    leave(await home.serve());
  });

  it('ends at once on a second signal', async () => {
    const server = await taken();
    const asked = await openRequest(server.url);
    server.process.kill('SIGTERM');
    // Under load the server may handle the first signal late, and it ignores a second one for a second after that.
    await isStopping(server.url);
    await sleep(1_500);
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(143);
    await asked.finish();
    await isFree();
  });

  it('reports that its port is in use, and releases everything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await eventually(() => other.listening);
      const PORT = String((other.address() as AddressInfo).port);
      const server = home.run([main], { PORT });
      expect(await server.exit).toBe(1);
      expect(server.stderr).toMatch(/^PORT: the port is in use/);
      expect(server.stdout, 'nothing was opened before').not.toMatch(/database|embedding/);
      await isFree();
      const onDemand = await home.serve(['--on-demand'], { PORT });
      expect(new URL(onDemand.url).port, 'an editor is content with any port').not.toBe(PORT);
      leave(onDemand);
    } finally {
      other.close();
    }
  });

  it('tells a second server if an editor started the first, and what to do', async () => {
    const server = await taken(['--on-demand']);
    const second = home.run([main]);
    expect(await second.exit).toBe(1);
    expect(second.stderr).toMatch(/An editor started it/);
    expect(second.stderr).toMatch(new RegExp(`kill ${server.pid}`));
    const third = home.run([main, '--on-demand']);
    expect(await third.exit, 'of several started by editors, those that are not needed end well').toBe(0);
    await end(server);
  });

  it('listens at once, and answers that it starts until it is ready', async () => {
    const PORT = await freePort();
    const server = home.run([main], { PORT });
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${PORT}${path}`, init).catch(() => null);
    const first = await eventually(() => ask('/ready'));
    expect([first!.status, await first!.json()]).toStrictEqual([503, { status: 'starting' }]);
    expect(first!.headers.get('retry-after')).toBe('1');
    const asked = await ask('/mcp', { method: 'POST', body: '{}' });
    expect([asked?.status, JSON.stringify(await asked?.json())]).toStrictEqual([
      503,
      expect.stringMatching(/"jsonrpc":"2.0","error".*the server is starting/),
    ]);
    await eventually(async () => (await ask('/ready'))?.status === 200);
    leave(Object.assign(server, { url: `http://127.0.0.1:${PORT}` }));
  });

  it('answers requests in flight before it ends', async () => {
    const server = await taken();
    const asked = await openRequest(server.url);
    server.process.kill('SIGTERM');
    await isStopping(server.url);
    expect(await asked.finish()).toBe(200);
    expect(await server.exit).toBe(0);
  });

  it('says that it stops when it is interrupted, also while it starts', async () => {
    const PORT = await freePort();
    const server = home.run([main], { PORT, LOG_LEVEL: 'info' });
    await eventually(() => fetch(`http://127.0.0.1:${PORT}/ready`).catch(() => null));
    server.process.kill('SIGINT');
    expect(await server.exit).toBe(0);
    expect(server.stdout).toMatch(/"reason":"SIGINT","msg":"stopping"/);
    expect(server.stdout).not.toMatch(/is ready/);
    await isFree();
  });

  it('reports that its database is unreachable, without the password', async () => {
    const server = home.run([main], { DATABASE_URL: 'postgres://l9_gateway:hush-hush@127.0.0.1:1/nowhere' });
    expect(await server.exit).toBe(1);
    expect(server.stderr).toMatch(/could not start: DATABASE_URL: .*ECONNREFUSED/);
    expect(server.stdout, 'it asks before the model is loaded').not.toMatch(/embedding/);
    expect(server.stdout + server.stderr).not.toMatch(/hush-hush/);
    await isFree();
  });
});

describeOnServer('a database server', () => {
  it('is shared by gateways, each on its own folder', async () => {
    const other = await createProcessHome();
    try {
      const { L9_MEMORY_HOME, ...settings } = home.env;
      const servers = await Promise.all([home.serve(), other.serve([], settings)]);
      expect(await pidAt(servers[0].url)).not.toBe(await pidAt(servers[1].url));
      await Promise.all(servers.map(end));
    } finally {
      await other.close();
    }
  });
});
