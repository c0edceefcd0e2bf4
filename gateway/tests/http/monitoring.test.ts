// What /health, /ready and /metrics tell, and whom.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const METRICS_KEY = 'a-key-that-only-shows-the-metrics-0123456789';
const PATHS = ['/health', '/ready', '/metrics'];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a path for monitors', () => {
  let gateway: TestGateway;
  let metricsUrl: string;
  beforeAll(async () => {
    const port = await freePort();
    metricsUrl = `http://127.0.0.1:${port}`;
    gateway = await startTestGateway({ embedder: standIn, env: { METRICS_KEY, METRICS_PORT: String(port) } });
  });
  afterAll(() => gateway.close());

  const get = async (path: string, key?: string) => {
    const response = await fetch(
      `${gateway.instance.url}${path}`,
      key ? { headers: { authorization: `Bearer ${key}` } } : {},
    );
    return { status: response.status, text: await response.text() };
  };
  const statusFor = (url: string, host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request(url, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });

  it('shows metrics only with METRICS_KEY or a key of an admin', async () => {
    for (const content of ['one', 'two', 'three'])
      await gateway.save('L', `A private plan, ${content}.`, { scope: 'l-private' });
    for (const key of [METRICS_KEY, gateway.apiKey('L')]) {
      const { status, text } = await get('/metrics', key);
      expect(status).toBe(200);
      expect(text).toMatch(/^l9_operation_seconds_count\{operation="save_memory",outcome="ok"\} 3$/m);
    }
    for (const [key, status] of [
      [undefined, 401],
      [`${METRICS_KEY}x`, 401],
      [gateway.apiKey('C'), 403],
    ] as const) {
      const refused = await get('/metrics', key);
      expect(refused.status).toBe(status);
      expect(refused.text).not.toMatch(/l9_|save_memory/);
    }
    expect(
      (
        await fetch(`${gateway.instance.url}/mcp`, {
          method: 'POST',
          headers: { 'x-api-key': METRICS_KEY, 'content-type': 'application/json' },
          body: '{}',
        })
      ).status,
    ).toBe(401);
  });

  it('tells versions, the pid and the model only with such a key', async () => {
    const { status, text } = await get('/health');
    expect([status, Object.keys(JSON.parse(text)).sort()]).toStrictEqual([200, ['instance', 'status']]);
    for (const key of [METRICS_KEY, gateway.apiKey('L')])
      expect(JSON.parse((await get('/health', key)).text)).toMatchObject({ status: 'ok', pid: process.pid });
    const ready = JSON.parse((await get('/ready')).text);
    expect(ready).toStrictEqual({
      status: 'ready',
      database: 'ok',
      migrations: 'ok',
      reads: 'ok',
      disk: 'ok',
      embedder: 'ok',
    });
    expect(JSON.parse((await get('/ready', METRICS_KEY)).text)).toStrictEqual({
      ...ready,
      engine: gateway.instance.database.engine,
      embedding_model: 'stand-in',
    });
    for (const key of [gateway.apiKey('C'), 'wrong']) {
      expect(JSON.parse((await get('/ready', key)).text)).toStrictEqual(ready);
      expect((await get('/health', key)).text).toBe(text);
    }
  });

  it('stays ready when a newer version has migrated the database, and not when another version made it', async () => {
    const readiness = async () => {
      const { status, text } = await get('/ready');
      const [gauge] = /(?<=^l9_ready\{check="migrations"\} )\d/m.exec((await get('/metrics', METRICS_KEY)).text)!;
      return [status, JSON.parse(text).migrations, Number(gauge)];
    };
    await gateway.asSuperuser(
      "insert into graphile_migrate.migrations (hash, filename) values ('sha1:later', '000099.sql')",
    );
    expect(await readiness()).toStrictEqual([200, 'newer', 1]);
    await gateway.asSuperuser("delete from graphile_migrate.migrations where hash = 'sha1:later'");
    expect(await readiness()).toStrictEqual([200, 'ok', 1]);
    const ofLast = 'where filename = (select max(filename) from graphile_migrate.migrations)';
    await gateway.asSuperuser(`update graphile_migrate.migrations set hash = 'other:' || hash ${ofLast}`);
    expect(await readiness()).toStrictEqual([503, 'unknown', 0]);
    await gateway.asSuperuser(`update graphile_migrate.migrations set hash = substr(hash, 7) ${ofLast}`);
    expect(await readiness()).toStrictEqual([200, 'ok', 1]);
  });

  it('answers only to allowed host names', async () => {
    for (const path of PATHS) {
      expect(await statusFor(`${gateway.instance.url}${path}`, 'evil.example'), path).toBe(403);
      expect(await statusFor(`${gateway.instance.url}${path}`, 'localhost'), path).not.toBe(403);
    }
    expect(await statusFor(`${metricsUrl}/metrics`, 'evil.example')).toBe(403);
  });

  it('shows metrics on their own port without a key, and nothing else', async () => {
    const metrics = await fetch(`${metricsUrl}/metrics`);
    expect([metrics.status, /^l9_embedding_backlog \d/m.test(await metrics.text())]).toStrictEqual([200, true]);
    for (const path of ['/health', '/ready', '/graphql', '/mcp', '/'])
      expect((await fetch(`${metricsUrl}${path}`)).status, path).toBe(404);
  });
});
