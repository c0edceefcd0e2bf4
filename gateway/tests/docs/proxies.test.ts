// The examples of docs/how-to/run-behind-a-proxy.md, run by nginx and Caddy themselves. What Cloudflare's tunnel sends is sent here.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { load } from 'js-yaml';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { useTestGateway } from '../support/gateway.ts';
import { nginxAround, proxyPrograms, type Sent, send } from '../support/proxies.ts';
import { standIn } from '../support/stand-in.ts';

const project = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(project, 'docs', 'how-to', 'run-behind-a-proxy.md'), 'utf8');
const example = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)![1]!;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

// Clients on the same machine have other addresses than the proxy.
const CLIENTS = { Caddy: '127.0.0.2', nginx: '127.0.0.3' } as const;

const found = proxyPrograms();
// Debian's packages of nginx and Caddy: `.ci/proxies install` unpacks them, which CI does.
(found ? describe : describe.skip)('a proxy in front of the gateway', () => {
  const gateway = useTestGateway({
    embedder: standIn,
    env: { TRUSTED_PROXIES: '127.0.0.1', ALLOWED_HOSTS: 'localhost', WRONG_KEYS_PER_MINUTE: '20' },
  });
  let folder: string;
  let ca: Buffer;
  const running: ChildProcess[] = [];
  const urls: Record<string, string> = {};

  const run = (program: string, args: string[]) => {
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    running.push(spawn(join(found!, program), args, { env: { ...process.env, ...home }, stdio: 'ignore' }));
  };
  const upstream = () => new URL(gateway.instance.url).host;

  beforeAll(async () => {
    folder = mkdtempSync(join(gateway.home.home, 'proxies-'));

    const caddy = await freePort();
    const site = example('caddy')
      .replace('memory.example.org', `localhost:${caddy}`)
      .replace('127.0.0.1:9001', upstream());
    const global = '{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n';
    writeFileSync(join(folder, 'Caddyfile'), `${global}${site}`);
    run('caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']);
    const certificates = join(folder, 'caddy');
    // For `localhost` Caddy is its own authority. nginx serves the same certificate.
    const [root, leaf, key] = await eventually(() => {
      try {
        const local = join(certificates, 'certificates', 'local', 'localhost');
        return [
          readFileSync(join(certificates, 'pki', 'authorities', 'local', 'root.crt')),
          readFileSync(join(local, 'localhost.crt')),
          readFileSync(join(local, 'localhost.key')),
        ] as const;
      } catch {
        return null;
      }
    });
    ca = root;
    urls.Caddy = `https://localhost:${caddy}`;

    const tunnel = await freePort();
    const behindTunnel = example('caddyfile')
      .replace('memory.example.org:8080', `localhost:${tunnel}`)
      .replace('127.0.0.1:9001', upstream());
    writeFileSync(join(folder, 'Caddyfile.tunnel'), `${global}${behindTunnel}`);
    run('caddy', ['run', '--config', join(folder, 'Caddyfile.tunnel'), '--adapter', 'caddyfile']);
    urls.Cloudflare = `http://localhost:${tunnel}`;

    const nginx = await freePort();
    mkdirSync(join(folder, 'nginx'));
    writeFileSync(join(folder, 'nginx', 'fullchain.pem'), leaf);
    writeFileSync(join(folder, 'nginx', 'privkey.pem'), key);
    const server = example('nginx')
      .replace('listen 443', `listen 127.0.0.1:${nginx}`)
      .replace('memory.example.org;', 'localhost;')
      .replaceAll('/etc/ssl/memory.example.org/', `${join(folder, 'nginx')}/`)
      .replace('127.0.0.1:9001', upstream());
    writeFileSync(join(folder, 'nginx.conf'), nginxAround(folder, server));
    run('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')]);
    urls.nginx = `https://localhost:${nginx}`;

    for (const url of Object.values(urls)) {
      await eventually(() =>
        send(`${url}/mcp`, ca, { method: 'GET' }).then(
          ({ status }) => status !== 502,
          () => false,
        ),
      );
    }
  });

  afterAll(async () => {
    await Promise.all(
      running.map((child) => {
        const ended = new Promise((resolve) => child.once('close', resolve));
        child.kill('SIGTERM');
        return ended;
      }),
    );
    rmSync(folder, { recursive: true, force: true });
  });

  const graphql = (url: string, secret: string, query: string, more: Sent = {}) =>
    send(`${url}/graphql`, ca, {
      ...more,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, ...more.headers },
      body: JSON.stringify({ query }),
    });

  describe.each(['Caddy', 'nginx', 'Cloudflare'])('the example for %s', (name) => {
    it('passes MCP and GraphQL on, a memory of the greatest length included', async () => {
      const client = new Client({ name: 'test', version: '1' });
      const headers = { authorization: `Bearer ${gateway.apiKey('C')}` };
      const fetchBehindProxy = (url: string | URL, init: RequestInit = {}) =>
        send(String(url), ca, {
          method: init.method ?? 'GET',
          headers: Object.fromEntries(new Headers(init.headers)),
          ...(init.body ? { body: String(init.body) } : {}),
        });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${urls[name]}/mcp`), {
          requestInit: { headers },
          fetch: fetchBehindProxy,
        }) as never,
      );
      const content = `${name} ${'behind the proxy '.repeat(70_000)}`.slice(0, 1024 * 1024);
      const project = `behind-${name}`;
      const saved = await client.callTool({ name: 'save_memory', arguments: { content, project_id: project } });
      expect(saved.isError, JSON.stringify(saved.content).slice(0, 300)).toBeFalsy();
      await client.close();

      const token = await gateway.token({ caller: 'C' });
      const query = `{ memories(filter: { projectId: { equalTo: "${project}" } }) { totalCount } }`;
      const answer = await graphql(urls[name]!, token, query);
      expect(((await answer.json()) as { data: unknown }).data).toStrictEqual({ memories: { totalCount: 1 } });
    });

    it('keeps health, readiness and metrics to the machines behind it', async () => {
      for (const path of ['/health', '/ready', '/metrics'])
        expect((await send(`${urls[name]}${path}`, ca, { method: 'GET' })).status).toBe(404);
    });

    it('lets a body of the documented size through, and none that is larger', async () => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.apiKey('C')}` };
      const sized = async (mebibytes: number) => {
        const body = JSON.stringify({ id: 'x'.repeat(mebibytes * 1_048_576) });
        const answer = await send(`${urls[name]}/mcp`, ca, { headers, body }).catch(() => null);
        return answer ? [answer.status, (await answer.text()).slice(0, 300)] : null;
      };
      // It arrives at the gateway, which says what is wrong with it.
      expect(await sized(39)).toStrictEqual([413, expect.stringContaining('at most 2 MiB')]);
      const [status, said] = (await sized(60)) ?? [413, ''];
      expect([502, 413]).toContain(status);
      expect(said).not.toContain('2 MiB');
    });
  });

  it('asks for Caddy where the tunnel of Cloudflare hands requests over, under its name only', async () => {
    const { ingress } = load(example('yaml')) as { ingress: { hostname?: string; service: string }[] };
    const [first, rest] = ingress;
    expect(example('caddyfile')).toContain(
      `http://${first!.hostname}:${new URL(first!.service).port} {\n\tbind ${new URL(first!.service).hostname}\n`,
    );
    expect(rest).toStrictEqual({ service: 'http_status:404' });
    const other = await send(`${urls.Cloudflare}/graphql`, ca, { headers: { host: 'other.example.org' }, body: '{}' });
    expect(await other.text()).toBe('');
  });

  describe.each(['Caddy', 'nginx'] as const)('the example for %s with trusted addresses', (name) => {
    it('names the address of the client, whatever the client claims to be', async () => {
      const wrong = `not-a-key-of-this-gateway-${name}`;
      const headers = { 'x-forwarded-for': '203.0.113.7' };
      const answer = await graphql(urls[name]!, wrong, '{ __typename }', { headers, from: CLIENTS[name] });
      expect(answer.status).toBe(401);
      const addresses = await eventually(async () => {
        const rows = await gateway.asSuperuser(
          "select distinct details ->> 'address' as address from audit_log where operation = 'DENIED'",
        );
        const found = rows.map(({ address }) => address);
        return found.includes(CLIENTS[name]) && found;
      });
      expect(addresses.filter((address) => !address.startsWith('127.0.0.') || address === '127.0.0.1')).toStrictEqual(
        [],
      );
    });
  });

  it.each(['::1', '203.0.113.9'])('believes Cloudflare, and not the client, about the address %s', async (address) => {
    const headers = {
      'cf-connecting-ip': address,
      'x-forwarded-for': `198.51.100.7, ${address}`,
      'x-real-ip': '198.51.100.8',
    };
    const answer = await graphql(urls.Cloudflare!, `not-a-key-of-${address}`, '{ __typename }', { headers });
    expect(answer.status).toBe(401);
    const listed = await eventually(async () => {
      const rows = await gateway.asSuperuser(
        "select distinct details ->> 'address' as address from audit_log where operation = 'DENIED'",
      );
      const addresses = rows.map((row) => row.address);
      return addresses.includes(address) && addresses;
    });
    expect(listed.filter((one: string) => one.startsWith('198.51.100.'))).toStrictEqual([]);
  });
});
