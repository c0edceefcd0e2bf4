// The first operator of an installation, which only the owner of the database can create.

import { engine } from '../../../db/tests/support/engine.ts';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { cli, createProcessHome, type ProcessHome } from '../home/processes.ts';

describe('l9-memory db platform-admin', () => {
  let home: ProcessHome;
  let env: Record<string, string> = {};
  beforeAll(async () => {
    home = await createProcessHome();
    const url = home.env.DATABASE_DIRECT_URL ?? home.env.DATABASE_URL;
    if (url) env = { DATABASE_OWNER_URL: url.replace('//l9_gateway:', '//l9_owner:') };
  });
  afterAll(() => home.close());

  const make = async (caller: string, more = env) => {
    const running = home.run([cli, 'db', 'platform-admin', '--caller', caller], more);
    return { code: await running.exit, out: running.stdout, err: running.stderr };
  };

  it('creates an operator whose token is valid at once for every tenant', async () => {
    const { code, out, err } = await make('ops');
    expect(code, err).toBe(0);
    expect(out).toMatch(/^ops is an operator/);
    const server = await home.serve();
    const token = home.run([cli, 'token', '--caller', 'ops']);
    await token.exit;
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token.stdout.trim()}` },
      body: JSON.stringify({ query: 'mutation { admin { createTenant(name: "acme") { name } } }' }),
    });
    expect(await response.json()).toStrictEqual({ data: { admin: { createTenant: { name: 'acme' } } } });

    if (engine === 'embedded') {
      const locked = await make('ops-2');
      expect(locked.code).toBe(1);
      expect(locked.err).toMatch(new RegExp(`process ${server.pid} serves it[^]*End it first`));
    }
    server.process.kill('SIGTERM');
    await server.exit;
  });

  it('refuses the name of an existing actor', async () => {
    for (const caller of ['C', 'ops']) {
      const { code, out, err } = await make(caller);
      expect([code, out]).toStrictEqual([1, '']);
      expect(err).toMatch(/there is an actor of that name already/);
    }
    expect((await make('not a name')).err).toMatch(/^caller: 1 to 63 letters/);
  });

  itOnServer('says which URL it needs on a server', async () => {
    const { code, err } = await make('ops-3', {});
    expect(code).toBe(1);
    expect(err).toMatch(/^DATABASE_OWNER_URL: must be the URL of l9_owner/);
  });
});
