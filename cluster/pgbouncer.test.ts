// A gateway whose connections go through PgBouncer in transaction mode, where each transaction may get another connection of the server.
import pg from 'pg';
import { pino } from 'pino';
import { eventually } from '../db/tests/support/eventually.ts';
import { claimsOf } from '../db/tests/support/sessions.ts';
import { loadConfig } from '../gateway/src/config/config.ts';
import { inTransaction, openDatabase, queryPrepared } from '../gateway/src/database/index.ts';
import { useTestGateway } from '../gateway/tests/support/gateway.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';

const silent = pino({ level: 'silent' });
const lines: { level: number; msg: string; code?: string }[] = [];
const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });

async function onServer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
  await work(client).finally(() => client.end());
}

describe('a gateway behind PgBouncer in transaction mode', () => {
  const gateway = useTestGateway({ embedder: standIn, logger, env: { RATE_LIMIT_STORE: 'database' } });
  const callerPool = () => gateway.instance.database.pool;

  it('runs its callers through the pooler, and jobs, notifications and counts past it', async () => {
    await gateway.save('C', 'a memory through the pooler');
    const rows = await gateway.asSuperuser(
      `select distinct application_name as name from pg_stat_activity
       where datname = current_database() and usename = 'l9_gateway'`,
    );
    expect(rows.map(({ name }) => name)).toStrictEqual(
      expect.arrayContaining(['l9-memory', 'l9-memory jobs', 'l9-memory listen']),
    );
    expect(new URL(gateway.config.databaseUrl!).port).toBe(process.env.TEST_PGBOUNCER_PORT);
    expect(new URL(gateway.config.databaseDirectUrl!).port).not.toBe(process.env.TEST_PGBOUNCER_PORT);
  });

  it('saves, searches, embeds and seals, over MCP and GraphQL', async () => {
    const id = await gateway.save('C', 'The staging server of the pooler is called walrus.');
    await gateway.embedded();
    const { hits } = await gateway.call('C', 'search_memory', { query: 'which server is staging', project_id: 'l9' });
    expect(hits.map((hit: { packet_id: string }) => hit.packet_id)).toContain(id);
    const { memoryByPacketId } = await gateway.query(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { content } }',
      { id },
    );
    expect(memoryByPacketId.content).toContain('walrus');
    await gateway.asWorker('select audit.seal_audit(1000)');
    const [verified] = await gateway.asSuperuser('select v.* from public.verify_audit() v');
    expect(verified.ok, verified.reason).toBe(true);
  });

  it('shows nothing of l-private to C, though C and L share connections of the server', async () => {
    const project = 'pooled';
    await gateway.save('L', 'a private walrus', { scope: 'l-private', project_id: project });
    const asked = Array.from({ length: 40 }, (_, n) =>
      gateway.query(n % 2 ? 'L' : 'C', `{ memories(filter: { projectId: { equalTo: "${project}" } }) { totalCount } }`),
    );
    const counts = (await Promise.all(asked)).map(({ memories }) => memories.totalCount);
    expect(counts.filter((_, n) => n % 2 === 0)).toStrictEqual(Array(20).fill(0));
    expect(counts.filter((_, n) => n % 2 === 1)).toStrictEqual(Array(20).fill(1));
  });

  it('leaves a connection without a role or claims, and runs each transaction without JIT compilation', async () => {
    await inTransaction(callerPool(), claimsOf('L'), (client) => client.query('select 1'));
    const left = new pg.Client({ connectionString: gateway.config.databaseUrl! });
    await left.connect();
    try {
      const { rows } = await left.query(
        "select current_user::text as role, coalesce(current_setting('jwt.claims.caller', true), '') as caller",
      );
      expect(rows).toStrictEqual([{ role: 'l9_gateway', caller: '' }]);
    } finally {
      await left.end();
    }
    const { rows } = await inTransaction(callerPool(), claimsOf('C'), (client) => client.query('show jit'));
    expect(rows).toStrictEqual([{ jit: 'off' }]);
  });

  it('prepares more statements than a connection keeps, and runs the first ones again', async () => {
    const texts = Array.from({ length: 230 }, (_, n) => ({
      name: `pooled-${n}`,
      text: `select ${n} + $1::integer as sum`,
    }));
    for (const round of [0, 1, 2]) {
      const sums = await inTransaction(callerPool(), claimsOf('C'), async (client) => {
        const found: number[] = [];
        for (const statement of texts)
          found.push((await queryPrepared<{ sum: number }>(client, { ...statement, values: [round] })).rows[0]!.sum);
        return found;
      });
      expect(sums).toStrictEqual(texts.map((_, n) => n + round));
    }
  });

  it('learns of changes that another session makes', async () => {
    await gateway.asOwner(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       select tenant_id, 'W', 'Walrus-IDE', 'walrus-ide', 'walrus', 'l9_agent', '{*}', '{*}'
       from public.actors where caller = 'C' limit 1`,
    );
    const token = await gateway.token({ caller: 'W' });
    await eventually(async () => (await gateway.graphql({ token }, '{ memories { totalCount } }')).status === 200);
  });

  it('is busy while the server takes no connections from the pooler, and logs the begin and the end of it once', async () => {
    const name = new URL(gateway.home.superuserUrl!).pathname.slice(1);
    const take = (isAllowed: boolean) =>
      onServer((client) => client.query(`alter database ${pg.escapeIdentifier(name)} allow_connections ${isAllowed}`));
    const ask = () => gateway.graphql('C', '{ memories { totalCount } }');
    await take(false);
    try {
      await onServer((client) =>
        client.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
          [name],
        ),
      );
      // The pooler learns a moment later that its connections have ended.
      await eventually(async () => (await ask()).status === 503);
      const { errors } = await ask();
      expect(errors![0]!.extensions).toMatchObject({ code: 'BUSY', sqlstate: 'L9BSY' });
      for (let round = 0; round < 5; round++) await ask();
    } finally {
      await take(true);
    }
    await eventually(async () => (await ask()).status === 200);
    const isAway = ({ msg }: { msg: string }) => msg.startsWith('cannot connect to the database');
    const isBack = ({ msg }: { msg: string }) => msg === 'connected to the database again';
    const codes = lines.filter(isAway).map(({ code }) => code);
    expect(codes.length).toBeGreaterThan(0);
    expect(codes, 'each cause once').toStrictEqual([...new Set(codes)]);
    expect(lines.filter(isBack)).toHaveLength(1);
    expect(lines.findIndex(isBack)).toBeGreaterThan(lines.findLastIndex(isAway));
  });

  it('refuses to start where the direct URL is missing or leads to another database', async () => {
    const open = (env: Record<string, string>) => openDatabase(loadConfig({ ...gateway.home.env, ...env }), silent);
    await expect(open({ DATABASE_DIRECT_URL: '' })).rejects.toThrow(
      /DATABASE_URL leads to a pooler.*DATABASE_DIRECT_URL/,
    );
    const other = new URL(gateway.config.databaseDirectUrl!);
    other.pathname = '/postgres';
    await expect(open({ DATABASE_DIRECT_URL: other.href })).rejects.toThrow(
      /DATABASE_DIRECT_URL of postgres: give both/,
    );
    expect(() => loadConfig({ DATABASE_DIRECT_URL: other.href })).toThrow('DATABASE_DIRECT_URL: needs DATABASE_URL');
  });
});
