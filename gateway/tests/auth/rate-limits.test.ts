// What a caller, a tenant and an address get beyond their limits, through each API.
import pg from 'pg';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { startTestGateway, type TestGateway, useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const MEMORIES = '{ memories(first: 1) { totalCount } }';
const SAVE = 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status } }';
const WRONG = 'not-a-key-of-this-gateway-0123456789';

const post = async (
  gateway: TestGateway,
  path: string,
  secret: string,
  body: unknown,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${gateway.instance.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${secret}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers differ by API, and tests look at what they asked for
  const json = (await response.json()) as any;
  return { status: response.status, retryAfter: Number(response.headers.get('retry-after')), json };
};
const toolCall = (name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** An actor with these limits, whose calls are counted from zero. */
async function actorOf(gateway: TestGateway, limits: string) {
  const caller = `limited-${Math.random().toString(36).slice(2)}`;
  await gateway.sql('L', `select register_actor($1, ${limits})`, [caller]);
  const [{ api_key: key }] = await gateway.sql('L', "select api_key from create_api_key('test', $1)", [caller]);
  const token = await gateway.token({ caller });
  await eventually(async () => (await gateway.graphql({ token }, '{')).status !== 401);
  return { caller, key, token };
}

describe('a caller beyond its limit', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('gets 429 from each API with the time to wait, for reads and writes apart', async () => {
    // Waiting for the actor costs a read.
    const { key, token } = await actorOf(gateway, 'reads_per_minute => 4, writes_per_minute => 2');
    expect((await gateway.graphql({ token }, MEMORIES)).errors).toBeUndefined();
    expect((await post(gateway, '/graphql', token, { query: MEMORIES })).status).toBe(200);
    expect((await gateway.graphql({ token }, MEMORIES)).errors).toBeUndefined();
    const graphql = await post(gateway, '/graphql', token, { query: MEMORIES });
    expect(graphql.status).toBe(429);
    expect(graphql.retryAfter).toBeGreaterThanOrEqual(1);
    expect(graphql.retryAfter).toBeLessThanOrEqual(60);
    expect(graphql.json.data).toBeUndefined();
    expect(graphql.json.errors[0]).toMatchObject({
      message: 'at most 4 reads a minute are admitted from this key or user',
      extensions: { code: 'RATE_LIMITED', sqlstate: 'L9RAT', retryAfterSeconds: graphql.retryAfter },
    });

    const input = (n: number) => ({ content: `Written beyond the limit of reads, ${n}.`, projectId: 'l9' });
    for (const n of [1, 2]) {
      const saved = await post(gateway, '/graphql', token, { query: SAVE, variables: { input: input(n) } });
      expect(saved.json.data.saveMemory.status).toBe('inserted');
    }
    expect((await post(gateway, '/graphql', token, { query: SAVE, variables: { input: input(3) } })).status).toBe(429);
    const [{ n }] = await gateway.asSuperuser(
      "select count(*)::int as n from packet_store where content like 'Written beyond the limit%'",
    );
    expect(n).toBe(2);

    // A stored key is another client than a token, with the same limits.
    const write = toolCall('save_memory', { content: 'By a limited key.', project_id: 'l9' });
    for (const status of [200, 200, 429]) {
      const answer = await post(gateway, '/mcp', key, write);
      expect(answer.status).toBe(status);
      if (status === 429) {
        expect(answer.retryAfter).toBeGreaterThanOrEqual(1);
        expect(answer.json.error.message).toMatch(
          /^RATE_LIMITED \(L9RAT\): at most 2 writes a minute .*Try again in \d+ s\.$/,
        );
      }
    }
    expect((await post(gateway, '/mcp', key, toolCall('get_memory_stats'))).status).toBe(200);
    await gateway.query('C', MEMORIES);
  });

  it('is counted by the fields at the top, and for documents that are not valid', async () => {
    const { token } = await actorOf(gateway, 'reads_per_minute => 10');
    const eight = `{ ${Array.from({ length: 8 }, (_, n) => `a${n}: memories(first: 1) { totalCount }`).join(' ')} }`;
    expect((await gateway.graphql({ token }, eight)).status).toBe(200);
    expect((await gateway.graphql({ token }, '{ nothing }')).status).toBe(400);
    const refused = await gateway.graphql({ token }, '{ nothing }');
    expect([refused.status, refused.errors?.[0]?.extensions?.code]).toStrictEqual([429, 'RATE_LIMITED']);
  });

  it('is counted for each message of a batch over MCP', async () => {
    const { key } = await actorOf(gateway, 'reads_per_minute => 5');
    const batch = (length: number) => Array.from({ length }, (_, id) => ({ ...toolCall('get_memory_stats'), id }));
    expect((await post(gateway, '/mcp', key, batch(6))).status).toBe(429);
  });

  it('leaves one audit row at once and one a minute, however many requests are refused', async () => {
    const { caller, token } = await actorOf(gateway, 'reads_per_minute => 1');
    for (let n = 0; n < 50; n++) expect((await gateway.graphql({ token }, MEMORIES)).status).toBe(429);
    const rows = await eventually(async () => {
      const found = await gateway.asSuperuser(
        "select operation, status, sqlstate, tenant_id, details from audit_log where sqlstate = 'L9RAT' and caller = $1",
        [caller],
      );
      return found.length > 0 && found;
    });
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      operation: 'DENIED',
      status: 'error',
      sqlstate: 'L9RAT',
      tenant_id: DEFAULT_TENANT,
      details: { reason: 'at most 1 reads a minute are admitted from this key or user', times: 1 },
    });
  });

  it('shares the limit of its tenant with the other callers', async () => {
    await gateway.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    const [{ tenant_id: tenantId }] = await gateway.asOwner(
      "select (set_tenant_limits(reads_per_minute => 4, tenant_id => t.tenant_id)).tenant_id from create_tenant('acme') t",
    );
    const [ofC, ofL] = await Promise.all(['C', 'L'].map((caller) => gateway.token({ caller, tenantId })));
    const ask = (token: string) => gateway.graphql({ token }, MEMORIES);
    await eventually(async () => (await ask(ofC!)).status === 200);
    for (let n = 0; n < 3; n++) expect((await ask(ofL!)).status).toBe(200);
    for (const token of [ofC!, ofL!]) {
      const { status, errors } = await ask(token);
      expect(status).toBe(429);
      expect(errors?.[0]?.message).toBe('at most 4 reads a minute are admitted from this tenant');
    }
    await gateway.query('C', MEMORIES);
  });

  it('shows in the metrics', async () => {
    const text = await gateway.metrics();
    for (const limit of ['reads', 'writes', 'tenant_reads'])
      expect(text).toMatch(new RegExp(`^l9_rate_limited_total\\{limit="${limit}"\\} [1-9]`, 'm'));
  });
});

describe('an address that sends wrong keys and tokens', () => {
  const gateway = useTestGateway({
    embedder: standIn,
    env: { WRONG_KEYS_PER_MINUTE: '10', TRUSTED_PROXIES: 'loopback' },
  });
  const from = (address: string, path: string, secret: string) =>
    post(gateway, path, secret, path === '/mcp' ? toolCall('get_memory_stats') : { query: MEMORIES }, {
      'x-forwarded-for': address,
    });

  it('gets 429 beyond its limit, and other addresses do not', async () => {
    const key = gateway.apiKey('C');
    expect((await from('203.0.113.5', '/mcp', key)).status).toBe(200);
    for (let n = 0; n < 10; n++)
      expect((await from('203.0.113.5', n % 2 ? '/mcp' : '/graphql', `${WRONG}${n}`)).status).toBe(401);
    const { status, retryAfter, json } = await from('203.0.113.5', '/mcp', `${WRONG}x`);
    expect(status).toBe(429);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(json.error.message).toMatch(/^RATE_LIMITED \(L9RAT\): at most 10 wrong keys and tokens a minute/);
    expect((await from('203.0.113.6', '/mcp', WRONG)).status).toBe(401);

    // A right key is not tried any more, unless it was accepted from there before.
    expect((await from('203.0.113.5', '/mcp', gateway.apiKey('L'))).status).toBe(429);
    expect((await from('203.0.113.5', '/mcp', key)).status).toBe(200);
    expect((await from('203.0.113.6', '/mcp', gateway.apiKey('L'))).status).toBe(200);
  });

  it('shares the limit with its network, where it is an IPv6 address', async () => {
    for (let n = 0; n < 10; n++) expect((await from(`2001:db8::${n}`, '/mcp', WRONG)).status).toBe(401);
    expect((await from('2001:db8::ffff', '/mcp', WRONG)).status).toBe(429);
    expect((await from('2001:db8:0:1::1', '/mcp', WRONG)).status).toBe(401);
  });

  it('leaves few audit rows with the address that the proxy names, however many it sends', async () => {
    for (let n = 0; n < 300; n++) await from('203.0.113.9', '/mcp', `${WRONG}${n}`);
    const rows = await eventually(async () => {
      const found = await gateway.asSuperuser(
        "select sqlstate, details ->> 'reason' as reason from audit_log where details ->> 'address' = '203.0.113.9' order by audit_id",
      );
      return found.length > 1 && found;
    });
    expect(rows).toStrictEqual([
      { sqlstate: 'L9AUT', reason: 'the API key is not accepted' },
      { sqlstate: 'L9RAT', reason: 'at most 10 wrong keys and tokens a minute are admitted from this address' },
    ]);
  });

  it('leaves at most 200 audit rows a minute, however many addresses they are', async () => {
    const addresses = Array.from({ length: 500 }, (_, n) => `198.51.${Math.floor(n / 250)}.${n % 250}`);
    for (const address of addresses) expect((await from(address, '/mcp', WRONG)).status).toBe(401);
    const [{ n }] = await gateway.asSuperuser(
      "select count(*)::int as n from audit_log where details ->> 'address' like '198.51.%'",
    );
    expect(n).toBeLessThanOrEqual(200);
  });

  it('cannot name another address where it is no trusted proxy', async () => {
    const direct = await startTestGateway({ embedder: standIn, env: { WRONG_KEYS_PER_MINUTE: '3' } });
    try {
      const statuses: number[] = [];
      for (let n = 0; n < 4; n++) {
        const headers = { 'x-forwarded-for': `203.0.113.${n}` };
        statuses.push((await post(direct, '/mcp', WRONG, toolCall('get_memory_stats'), headers)).status);
      }
      expect(statuses).toStrictEqual([401, 401, 401, 429]);
    } finally {
      await direct.close();
    }
  });
});

describeOnServer('a gateway beside others on one database', () => {
  it('counts together with them, and names nobody in the table', async () => {
    const env = { RATE_LIMIT_STORE: 'database', WRONG_KEYS_PER_MINUTE: '40' };
    const one = await startTestGateway({ embedder: standIn, env });
    const other = await startTestGateway({
      embedder: standIn,
      env,
      home: { ...one.home, drop: async () => {} },
    });
    try {
      const { caller, key } = await actorOf(one, 'reads_per_minute => 3');
      await eventually(async () => (await post(other, '/mcp', key, toolCall('x'))).status !== 401);
      expect((await post(one, '/mcp', key, toolCall('get_memory_stats'))).status).toBe(200);
      expect((await post(other, '/mcp', key, toolCall('get_memory_stats'))).status).toBe(200);
      for (const gateway of [one, other])
        expect((await post(gateway, '/mcp', key, toolCall('get_memory_stats'))).status).toBe(429);

      const statuses: number[] = [];
      for (let n = 0; n < 42; n++) statuses.push((await post(n % 2 ? one : other, '/mcp', WRONG, {})).status);
      expect(statuses).toContain(429);
      const counts = await one.asSuperuser('select key from administration.call_counts');
      expect(counts.length).toBeGreaterThan(0);
      expect(JSON.stringify(counts)).not.toMatch(new RegExp(`${caller}|127\\.0|${DEFAULT_TENANT}`));
    } finally {
      await other.close();
      await one.close();
    }
  });
});

describeOnServer('a gateway whose counts in the database are locked', () => {
  const METRICS_KEY = 'a-key-that-only-shows-the-metrics-0123456789';
  const env = { RATE_LIMIT_STORE: 'database', METRICS_KEY, WRONG_KEYS_PER_MINUTE: '20' };
  let gateway: TestGateway;
  let other: pg.Client;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn, env });
    other = new pg.Client({ connectionString: gateway.home.superuserUrl! });
    await other.connect();
    await other.query('begin; lock table administration.call_counts');
  });
  afterAll(async () => {
    await other.end();
    await gateway.close();
  });
  const ask = async (path: string, key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${gateway.instance.url}${path}`, { headers, signal: AbortSignal.timeout(5_000) });
    await response.text();
    return response.status;
  };

  it('answers monitors at once, and limits their wrong keys in its own process', async () => {
    const began = performance.now();
    for (const key of [METRICS_KEY, gateway.apiKey('L')]) {
      for (const path of ['/health', '/ready', '/metrics']) expect(await ask(path, key), path).toBe(200);
    }
    // Six waits for the lock would take longer, even on an idle machine.
    expect(performance.now() - began).toBeLessThan(5_000);
    const statuses: number[] = [];
    for (let n = 0; n < 22; n++) statuses.push(await ask('/metrics', `${WRONG}${n}`));
    expect([statuses[0], statuses.at(-1)]).toStrictEqual([401, 429]);
  });

  it('counts calls itself, and waits for the database once, not with each call', async () => {
    const signal = AbortSignal.timeout(20_000);
    const body = JSON.stringify(toolCall('get_memory_stats'));
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-api-key': gateway.apiKey('C'),
    };
    const call = () => fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body, signal });
    expect((await call()).status).toBe(200);
    const began = performance.now();
    for (let n = 0; n < 20; n++) expect((await call()).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(8_000);
    for (let n = 0; n < 22; n++) await ask('/attach', `${WRONG}${n}`);
    expect(await ask('/attach', WRONG)).toBe(429);
  });
});
