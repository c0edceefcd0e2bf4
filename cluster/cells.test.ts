// Two gateways, each on a database of its own, behind the proxies of docker/cells: which of them a call gets to, also while a tenant moves
// and when one of them is gone.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { eventually } from '../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { proxyPrograms, type Sent, send } from '../gateway/tests/support/proxies.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';
import {
  makeCertificate,
  PROXIES,
  type ProxyName,
  type RunningProxy,
  startProxies,
  writeDirectory,
} from './support/cells.ts';
import { openWorkplace, type Workplace } from './support/programs.ts';

const LIST = '{ memories { nodes { content } } }';
const CLIENTS = { HAProxy: '127.0.0.5', nginx: '127.0.0.6', Caddy: '127.0.0.7' } as const;

describe('two cells behind a proxy', () => {
  let place: Workplace;
  let a: TestGateway;
  let b: TestGateway;
  let ca: Buffer;
  let proxies: Record<ProxyName, RunningProxy>;
  let stopProxies: () => Promise<void>;
  const tenants: Record<string, string> = {};
  const keys: Record<string, string> = {};

  /** Makes a tenant with a route, an API key, and a memory that tells its cell. */
  async function addTenant(gateway: TestGateway, route: string, cell: string) {
    const [{ tenant_id: tenant }] = await gateway.asOwner(`select tenant_id from create_tenant('${route}')`);
    await gateway.asOwner(`select set_tenant_route('${tenant}', '${route}')`);
    const claims = { 'jwt.claims.tenant_id': tenant };
    const [key] = await gateway.sql('L', "select api_key, key_id from create_api_key('a key', 'C')", [], claims);
    await gateway.sql('C', 'select save_memory($1)', [`${route} in cell ${cell}`], claims);
    return { tenant, key: key.api_key as string, id: key.key_id as string };
  }

  beforeAll(async () => {
    place = openWorkplace();
    ca = makeCertificate(place);
    const env = {
      ALLOWED_HOSTS: 'memory.example,*.memory.example',
      TRUSTED_PROXIES: '127.0.0.1',
      WRONG_KEYS_PER_MINUTE: '1000',
    };
    [a, b] = await Promise.all([
      startTestGateway({ embedder: standIn, env }),
      startTestGateway({ embedder: standIn, env }),
    ]);
    const acme = await addTenant(a, 'acme', 'a');
    const globex = await addTenant(b, 'globex', 'b');
    Object.assign(tenants, { acme: acme.tenant, globex: globex.tenant });
    Object.assign(keys, { acme: acme.key, globex: globex.key, unrouted: a.apiKey('C') });
    await a.sql('C', "select save_memory('no route in cell a', scope => 'global')");

    // What a move leaves: the tenant is in the other cell, too, where its key is the same.
    const moved = await addTenant(b, 'acme', 'b');
    await b.asSuperuser('update identity.api_key_hashes set hash = $1 where key_id = $2', [
      createHash('sha256').update(acme.key).digest(),
      moved.id,
    ]);
    // A change of identities makes the gateway read the hash.
    await b.asOwner("select register_scope('reread')");

    writeDirectory(place);
    const ports = [a, b].map(({ instance }) => Number(new URL(instance.url).port));
    ({ proxies, close: stopProxies } = await startProxies(place, proxyPrograms()!, ports));
  }, 300_000);

  afterAll(async () => {
    await stopProxies?.();
    await Promise.all([a?.close(), b?.close()]);
    await place?.close();
  });

  const call = (name: ProxyName, host: string, path: string, { headers, ...sent }: Sent = {}) =>
    send(`https://${host}:${proxies[name].port}${path}`, ca, {
      ...sent,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  /** The memories that a list over GraphQL shows, or the status and text of a refusal. */
  async function list(name: ProxyName, host: string, headers: Record<string, string>, more: Sent = {}) {
    const answer = await call(name, host, '/graphql', { ...more, headers, body: JSON.stringify({ query: LIST }) });
    const text = await answer.text();
    if (answer.status !== 200) return { status: answer.status, text, retryAfter: answer.headers.get('retry-after') };
    const { data } = JSON.parse(text) as { data: { memories: { nodes: { content: string }[] } } };
    return data.memories.nodes.map(({ content }) => content);
  }

  describe.each(PROXIES)('with %s', (name) => {
    it('leads a call to the cell of its host name, be it with a key or a token', async () => {
      const token = async (gateway: TestGateway, route: string) =>
        bearer(await gateway.token({ caller: 'C', tenantId: tenants[route]! }));
      expect(await list(name, 'acme.memory.example', bearer(keys.acme!))).toStrictEqual(['acme in cell a']);
      expect(await list(name, 'globex.memory.example', bearer(keys.globex!))).toStrictEqual(['globex in cell b']);
      expect(await list(name, 'acme.memory.example', await token(a, 'acme'))).toStrictEqual(['acme in cell a']);
      expect(await list(name, 'GLOBEX.memory.example', await token(b, 'globex'))).toStrictEqual(['globex in cell b']);
      expect(await list(name, 'memory.example', await token(b, 'globex'))).toMatchObject({ status: 401 });
    });

    it('leads a call under the shared name to the cell of its key, over GraphQL and MCP', async () => {
      expect(await list(name, 'memory.example', bearer(keys.acme!))).toStrictEqual(['acme in cell a']);
      expect(await list(name, 'memory.example', bearer(keys.globex!))).toStrictEqual(['globex in cell b']);
      expect(await list(name, 'memory.example', { authorization: `bearer   ${keys.globex}` })).toHaveLength(1);
      expect(await list(name, 'memory.example', { 'x-api-key': keys.globex! })).toStrictEqual(['globex in cell b']);
      // The line of - in the directory.
      expect(await list(name, 'memory.example', bearer(keys.unrouted!))).toStrictEqual(['no route in cell a']);
      const client = new Client({ name: 'test', version: '1' });
      const transport = new StreamableHTTPClientTransport(new URL(`https://memory.example:${proxies[name].port}/mcp`), {
        requestInit: { headers: bearer(keys.globex!) },
        fetch: (url, init = {}) =>
          send(String(url), ca, {
            method: init.method ?? 'GET',
            headers: Object.fromEntries(new Headers(init.headers)),
            ...(init.body ? { body: String(init.body) } : {}),
          }),
      });
      await client.connect(transport as never);
      const found = await client.callTool({ name: 'memory_find', arguments: { query: 'cell' } });
      expect(JSON.stringify(found)).toContain('globex in ');
      await client.close();
    });

    it('gives no rights by a route, and lets no other header choose the cell', async () => {
      const refused = { status: 401, text: expect.stringContaining('L9AUT') };
      expect(await list(name, 'acme.memory.example', bearer(keys.globex!))).toMatchObject(refused);
      expect(await list(name, 'globex.memory.example', bearer(keys.unrouted!))).toMatchObject(refused);
      const forged = `l9k_globex_${keys.acme!.slice('l9k_acme_'.length)}`;
      expect(await list(name, 'memory.example', bearer(forged))).toMatchObject(refused);
      for (const header of ['x-forwarded-host', 'forwarded', 'x-cell', 'x-l9-cell', 'x-l9-route', 'cell', 'route']) {
        const value = header === 'forwarded' ? 'host=globex.memory.example' : 'globex.memory.example b globex';
        const headers = { ...bearer(keys.globex!), [header]: value };
        expect(await list(name, 'acme.memory.example', headers), header).toMatchObject(refused);
      }
      for (const path of ['/health', '/ready', '/metrics'])
        expect((await call(name, 'acme.memory.example', path, { method: 'GET' })).status).toBe(404);
    });

    it('answers 421 and what to do where no tenant has the route', async () => {
      const misdirected = {
        status: 421,
        text: expect.stringMatching(/^no tenant has this host name or key: call https/),
      };
      expect(await list(name, 'nobody.memory.example', bearer(keys.acme!))).toMatchObject(misdirected);
      const unknown = keys.acme!.replace('_acme_', '_nobody_');
      expect(await list(name, 'memory.example', bearer(unknown))).toMatchObject(misdirected);
      expect(await list(name, 'memory.example', { 'x-api-key': unknown })).toMatchObject(misdirected);
    });

    it('answers 421 to a key without a route where the directory has no line for it', async () => {
      const statusOf = async (secret: string) => {
        const answer = await list(name, 'memory.example', bearer(secret));
        return Array.isArray(answer) ? 200 : answer.status;
      };
      writeDirectory(place, (text) => text.replace(/^- a$/m, ''));
      try {
        proxies[name].reload();
        // For a moment after its reload nginx also answers from the processes that read the directory before.
        const withoutRoute = [keys.unrouted!, await a.token({ caller: 'C', tenantId: tenants.acme! })];
        for (const secret of withoutRoute)
          await eventually(async () => (await statusOf(secret).catch(() => 0)) === 421);
        expect(await statusOf(keys.acme!), 'which has one').toBe(200);
      } finally {
        writeDirectory(place);
        proxies[name].reload();
      }
      await eventually(async () => (await statusOf(keys.unrouted!).catch(() => 0)) === 200);
    });

    it('tells the gateway the address of the client, whatever the client claims', async () => {
      const headers = { ...bearer(`l9k_globex_wrong-${name}`), 'x-forwarded-for': '203.0.113.7' };
      expect(await list(name, 'memory.example', headers, { from: CLIENTS[name] })).toMatchObject({ status: 401 });
      const addresses = await eventually(async () => {
        const rows = await b.asSuperuser(
          "select distinct details ->> 'address' as address from audit_log where operation = 'DENIED'",
        );
        const found = rows.map(({ address }) => address);
        return found.includes(CLIENTS[name]) && found;
      });
      expect(addresses).not.toContain('203.0.113.7');
    });

    it('moves a tenant by the line of its route, while it is called', async () => {
      const other: unknown[] = [];
      const seen = new Set<string>();
      let isOver = false;
      const ways = [['acme.memory.example'], ['memory.example']] as const;
      const callers = ways.map(async ([host]) => {
        while (!isOver) {
          const answer = await list(name, host, bearer(keys.acme!)).catch((error) => ({ broken: error.message }));
          if (Array.isArray(answer)) seen.add(`${host}: ${answer}`);
          // While it reloads, Caddy may reset a connection before it has read a call, which clients then repeat.
          else if (!('broken' in answer && /^connect ECONNRESET/.test(answer.broken))) other.push(answer);
        }
      });
      const reached = (cell: string) =>
        eventually(async () => {
          const answers = await Promise.all(ways.map(([host]) => list(name, host, bearer(keys.acme!))));
          return answers.every((answer) => Array.isArray(answer) && answer[0] === `acme in cell ${cell}`);
        });
      try {
        await reached('a');
        writeDirectory(place, (text) => text.replace('acme a', 'acme b'));
        proxies[name].reload();
        await reached('b');
        expect(await list(name, 'memory.example', bearer(keys.globex!))).toStrictEqual(['globex in cell b']);
      } finally {
        writeDirectory(place);
        proxies[name].reload();
      }
      await reached('a');
      isOver = true;
      await Promise.all(callers);
      expect(other).toStrictEqual([]);
      expect([...seen].sort()).toStrictEqual([
        'acme.memory.example: acme in cell a',
        'acme.memory.example: acme in cell b',
        'memory.example: acme in cell a',
        'memory.example: acme in cell b',
      ]);
    });
  });

  it('leaves the other cell as it is when one is gone, whose callers are told to come again', async () => {
    await b.close();
    for (const name of PROXIES) {
      const away = await eventually(async () => {
        const answer = await list(name, 'globex.memory.example', bearer(keys.globex!));
        return Array.isArray(answer) ? null : answer;
      });
      expect(away, name).toMatchObject({ status: 503, retryAfter: '5', text: expect.stringContaining('try again') });
      expect(await list(name, 'memory.example', bearer(keys.globex!)), name).toMatchObject({ status: 503 });
      for (const host of ['acme.memory.example', 'memory.example'])
        expect(await list(name, host, bearer(keys.acme!)), name).toStrictEqual(['acme in cell a']);
    }
  });

  it('is the configuration that docs/how-to/run-many-databases.md names', () => {
    const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'how-to', 'run-many-databases.md'), 'utf8');
    for (const file of ['haproxy.cfg', 'nginx.conf', 'Caddyfile', 'cells.map'])
      expect(page).toContain(`(../../docker/cells/${file})`);
  });
});
