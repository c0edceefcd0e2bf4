// What callers get when the database has no time for them, or is not there.
import pg from 'pg';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome, withoutPooler } from '../support/home.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { standIn } from '../support/stand-in.ts';

const memories = '{ memories(first: 1) { nodes { packetId } } }';

const post = async (gateway: TestGateway, path: string, authorization: string, body: object) => {
  const response = await fetch(`${gateway.instance.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${authorization}`,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
};

/** What GraphQL and MCP answer, each as what it is. */
async function expectBusy(gateway: TestGateway) {
  const graphql = await post(gateway, '/graphql', await gateway.token({ caller: 'C' }), { query: memories });
  expect(graphql).toMatchObject({ status: 503, retryAfter: '1' });
  expect(JSON.parse(graphql.text).errors[0].extensions).toMatchObject({ code: 'BUSY', sqlstate: 'L9BSY' });
  const { isError, text } = await gateway.tool('C', 'search_memory', { query: 'anything' });
  expect(isError).toBe(true);
  expect(text).toMatch(/^BUSY \(L9BSY\): .*Try again/);
}

describe('a database that has no time', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const env = { DATABASE_QUEUE_TIMEOUT_MS: '300', DATABASE_POOL_SIZE: '2' };
    gateway = await startTestGateway({ embedder: standIn, env });
    await gateway.query('C', memories);
  });
  afterAll(() => gateway.close());

  it('is reported as BUSY by each API, while HTTP stays alive, and answers once it has time again', async () => {
    const { database, url } = gateway.instance;
    const held = await Promise.all(
      Array.from({ length: database.engine === 'server' ? 2 : 1 }, () => database.pool.connect()),
    );
    await expectBusy(gateway);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    for (const client of held) client.release();
    await gateway.query('C', memories);
    await gateway.save('C', 'saved once there is time');
  });

  it('is not asked to record that it had none', async () => {
    const rows = await gateway.asSuperuser("select 1 from public.audit_log where sqlstate = 'L9BSY'");
    expect(rows).toHaveLength(0);
  });
});

describeOnServer('a database that is away', () => {
  let home: TestHome;
  let gateway: TestGateway;
  let relay: Relay;

  beforeAll(async () => {
    home = await createTestHome();
    relay = await startRelay(home.env.DATABASE_URL!);
    gateway = await startTestGateway({ home, embedder: standIn, env: { DATABASE_URL: relay.url } });
  });
  afterAll(async () => {
    await gateway.close();
    relay.close();
  });

  it('is reported as BUSY when the GraphQL schema is to be built from it, which the next request does', async () => {
    relay.close();
    const { status, errors } = await gateway.graphql('C', memories);
    expect({ status, code: errors![0]!.extensions!.code }).toStrictEqual({ status: 503, code: 'BUSY' });
    await relay.open();
    await gateway.query('C', memories);
  });

  it('is reported as BUSY, and used again as soon as it is back', async () => {
    relay.close();
    for (let round = 0; round < 3; round++) await expectBusy(gateway);
    expect((await fetch(`${gateway.instance.url}/health`)).status).toBe(200);
    expect((await fetch(`${gateway.instance.url}/ready`)).status).toBe(503);
    await relay.open();
    await gateway.query('C', memories);
    await gateway.save('C', 'saved once it is back');
    await eventually(async () => (await fetch(`${gateway.instance.url}/ready`)).status === 200);
  });

  it('is reported as BUSY to calls whose connections break', async () => {
    const asked = Promise.all(Array.from({ length: 20 }, () => gateway.graphql('C', memories)));
    relay.close();
    const answers = await asked;
    await relay.open();
    for (const { status, errors } of answers) {
      if (errors) expect({ status, code: errors[0]!.extensions!.code }).toStrictEqual({ status: 503, code: 'BUSY' });
    }
  });
});

describeOnServer('a database that takes no connections', () => {
  const lines: { level: number; msg: string; code?: string }[] = [];
  let gateway: TestGateway;
  let root: pg.Client;
  let name: string;
  beforeAll(async () => {
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });
    // A pooler writes such a log of its own.
    gateway = await startTestGateway({ embedder: standIn, logger, home: withoutPooler(await createTestHome()) });
    await gateway.query('C', memories);
    const url = new URL(gateway.home.superuserUrl!);
    name = pg.escapeIdentifier(url.pathname.slice(1));
    url.pathname = '/postgres';
    root = new pg.Client({ connectionString: url.href });
    await root.connect();
  });
  afterAll(async () => {
    await root.query(`alter database ${name} allow_connections true`);
    await root.end();
    await gateway.close();
  });
  const disconnect = () =>
    root.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [new URL(gateway.home.superuserUrl!).pathname.slice(1)],
    );

  it('is reported as BUSY by each API, and logged once with the code of PostgreSQL', async () => {
    await root.query(`alter database ${name} allow_connections false`);
    await disconnect();
    for (let round = 0; round < 3; round++) await expectBusy(gateway);
    const invalid = await gateway.tool('C', 'search_memory', { query: 'anything', k: -1 });
    expect(invalid.text).toMatch(/^INVALID_INPUT/);
    await root.query(`alter database ${name} allow_connections true`);
    await gateway.query('C', memories);
    const errors = lines.filter(({ level, msg }) => level >= 50 && !msg.startsWith('request errored'));
    expect(errors.filter(({ code }) => code === '55000')).toHaveLength(1);
    expect(errors.map(({ msg }) => msg).join('\n')).not.toMatch(/unexpected error|audit/);
  });
});
