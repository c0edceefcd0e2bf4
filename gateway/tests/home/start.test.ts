import assert from 'node:assert/strict';
import { existsSync, rmSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockHome, readHolder } from '../../src/home/lock.ts';
import { engine } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { createProcessHome, main, type ProcessHome, pidAt, type Running } from './processes.ts';

let home: ProcessHome;
before(async () => {
  home = await createProcessHome();
});
after(() => home.close());

const isFree = async () => (await lockHome(home.home)).release();

async function end(server: Running) {
  server.process.kill('SIGTERM');
  assert.equal(await server.exit, 0);
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
    assert.deepEqual([holder?.pid, holder?.url, holder?.onDemand], [server.pid, server.url, false]);
    for (const file of ['server.json', 'credentials.json', 'lock']) {
      assert.equal(statSync(join(home.home, file)).mode & 0o777, 0o600, file);
    }
    assert.doesNotMatch(server.stdout + server.stderr, /SQLite is an experimental/);
    await end(server);
    assert.equal(existsSync(join(home.home, 'server.json')), false);
    await isFree();
  });

  it('keeps a second one off its folder, which says who is there', async () => {
    const server = await home.serve();
    const second = home.run([main]);
    assert.equal(await second.exit, 1);
    assert.match(second.stderr, new RegExp(`in use: process ${server.pid} serves it at ${server.url}\n`));
    assert.doesNotMatch(second.stderr, /editor/);
    assert.equal(await pidAt(server.url), server.pid);
    await end(server);
  });

  it('started by an editor, tells a second one so, and what to do', async () => {
    const server = await home.serve(['--on-demand']);
    const second = home.run([main]);
    assert.equal(await second.exit, 1);
    assert.match(second.stderr, /An editor started it/);
    assert.match(second.stderr, new RegExp(`kill ${server.pid}`));
    const third = home.run([main, '--on-demand']);
    assert.equal(await third.exit, 0, 'of several started by editors, those that are not needed end well');
    await end(server);
  });

  it('ends in good order when it is told to while it starts', async () => {
    // The file appears anew when the server takes the folder, long before it is ready.
    rmSync(join(home.home, 'lock'), { force: true });
    const server = home.run([main]);
    await eventually(() => existsSync(join(home.home, 'lock')));
    server.process.kill('SIGTERM');
    assert.equal(await server.exit, 0, server.stderr);
    assert.doesNotMatch(server.stdout, /is ready/);
    await isFree();
    await end(await home.serve());
  });

  it('says that its port is taken, and lets go of everything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await eventually(() => other.listening);
      const PORT = String((other.address() as AddressInfo).port);
      const server = home.run([main], { PORT });
      assert.equal(await server.exit, 1);
      assert.match(server.stderr, /^PORT: something else listens there already/);
      await isFree();
      const onDemand = await home.serve(['--on-demand'], { PORT });
      assert.notEqual(new URL(onDemand.url).port, PORT, 'an editor is content with any port');
      await end(onDemand);
    } finally {
      other.close();
    }
  });

  it('says that its database is not there, without its password', async () => {
    const server = home.run([main], { DATABASE_URL: 'postgres://l9_gateway:hush-hush@127.0.0.1:1/nowhere' });
    assert.equal(await server.exit, 1);
    assert.match(server.stderr, /could not start: .*ECONNREFUSED/);
    assert.doesNotMatch(server.stdout + server.stderr, /hush-hush/);
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
    assert.equal(await asked.finish(), 200);
    assert.equal(await server.exit, 0);
  });

  it('ends at once on a second signal', async () => {
    const server = await home.serve();
    const asked = await openRequest(server.url);
    server.process.kill('SIGTERM');
    await sleep(1_500);
    server.process.kill('SIGTERM');
    assert.equal(await server.exit, 143);
    await asked.finish();
    await isFree();
  });

  it(
    'shares a database server with others, each on its own folder',
    {
      skip: engine === 'embedded' && 'needs a server',
    },
    async () => {
      const other = await createProcessHome();
      try {
        const DATABASE_URL = home.env.DATABASE_URL as string;
        const servers = await Promise.all([home.serve(), other.serve([], { DATABASE_URL })]);
        assert.notEqual(await pidAt(servers[0].url), await pidAt(servers[1].url));
        await Promise.all(servers.map(end));
      } finally {
        await other.close();
      }
    },
  );
});
