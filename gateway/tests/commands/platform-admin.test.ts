// The first operator of an installation, whom nobody but the owner of the database can make.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cli, createProcessHome, type ProcessHome } from '../home/processes.ts';
import { engine } from '../support/databases.ts';

describe('l9-memory db platform-admin', () => {
  let home: ProcessHome;
  let env: Record<string, string> = {};
  before(async () => {
    home = await createProcessHome();
    const { DATABASE_URL } = home.env;
    if (DATABASE_URL) env = { DATABASE_OWNER_URL: DATABASE_URL.replace('//l9_gateway:', '//l9_owner:') };
  });
  after(() => home.close());

  const make = async (caller: string, more = env) => {
    const running = home.run([cli, 'db', 'platform-admin', '--caller', caller], more);
    return { code: await running.exit, out: running.stdout, err: running.stderr };
  };

  it('makes an operator, whose token is good at once for every tenant', async () => {
    const { code, out, err } = await make('ops');
    assert.equal(code, 0, err);
    assert.match(out, /^ops is an operator/);
    const server = await home.serve();
    const token = home.run([cli, 'token', '--caller', 'ops']);
    await token.exit;
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token.stdout.trim()}` },
      body: JSON.stringify({ query: 'mutation { createTenant(input: { name: "acme" }) { tenant { name } } }' }),
    });
    assert.deepEqual(await response.json(), { data: { createTenant: { tenant: { name: 'acme' } } } });

    if (engine === 'embedded') {
      const locked = await make('ops-2');
      assert.equal(locked.code, 1);
      assert.match(locked.err, new RegExp(`process ${server.pid} serves it[^]*End it first`));
    }
    server.process.kill('SIGTERM');
    await server.exit;
  });

  it('makes none of an actor that is there', async () => {
    for (const caller of ['C', 'ops']) {
      const { code, out, err } = await make(caller);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /there is an actor of that name already/);
    }
    assert.match((await make('not a name')).err, /^caller: 1 to 63 letters/);
  });

  it('says what it needs on a server', { skip: engine === 'embedded' && 'needs a server' }, async () => {
    const { code, err } = await make('ops-3', {});
    assert.equal(code, 1);
    assert.match(err, /^DATABASE_OWNER_URL: needed here/);
  });
});
