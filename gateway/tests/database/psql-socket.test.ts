// The psql socket of the embedded engine, with clients that misbehave. On a server, psql connects directly.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { describeOnEmbedded, itOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { startEngine } from '../../src/database/engine.ts';
import { enginePool } from '../../src/database/engine-stream.ts';
import { psqlSocket, servePsql } from '../../src/database/psql-socket.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

const seconds = (n: number) => new Promise((resolve) => setTimeout(resolve, n * 1000));

describeOnEmbedded('the psql socket of the embedded engine', () => {
  let gateway: TestGateway;
  const clients: pg.Client[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await gateway.close();
  });

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: gateway.instance.database.psqlUrl });
    client.on('error', () => {});
    await client.connect();
    clients.push(client);
    return client;
  }
  const asC = `begin; set local role l9_agent;
    select set_config('jwt.claims.tenant_id', '${DEFAULT_TENANT}', true), set_config('jwt.claims.caller', 'C', true)`;
  const identity = async (client: pg.Client | pg.Pool) =>
    (await client.query('select current_user::text as role, session_user::text as login')).rows[0];
  const gatewayIs = async () => {
    expect(await identity(gateway.instance.database.pool)).toStrictEqual({ role: 'l9_gateway', login: 'l9_gateway' });
    const answer = await gateway.graphql('C', '{ memories(first: 1) { nodes { packetId } } }');
    expect(answer.errors).toBeUndefined();
  };

  it('can be opened by the owner of the folder only', () => {
    const { folder, path } = psqlSocket(gateway.config.home);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('finds the types and operators of pgvector without their schema', async () => {
    const client = await connect();
    const compare = "select '[1,2]'::vector <=> '[1,2]'::vector as distance, '[1]'::halfvec as short";
    expect((await client.query(compare)).rows, 'before it takes a role').toStrictEqual([{ distance: 0, short: '[1]' }]);
    await client.query(asC);
    expect((await client.query(compare)).rows).toStrictEqual([{ distance: 0, short: '[1]' }]);
    await client.query('rollback');
  });

  it('gives a client the rights of a caller within a transaction, and none outside', async () => {
    const client = await connect();
    expect(await identity(client)).toStrictEqual({ role: 'l9_gateway', login: 'l9_gateway' });
    await expect(client.query('select * from public.packet_store')).rejects.toMatchObject({ code: '42501' });
    await client.query(asC);
    const saved = await client.query("select (public.save_memory('seen through psql', project_id => 'p')).status");
    expect(saved.rows[0].status).toBe('inserted');
    await client.query('commit');
    expect(await identity(client)).toStrictEqual({ role: 'l9_gateway', login: 'l9_gateway' });
  });

  it('isolates other clients from an error inside a transaction', async () => {
    const client = await connect();
    await client.query('begin');
    await expect(client.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('rollback');
    await expect(client.query('select 1/$1::int', [0])).rejects.toMatchObject({ code: '22012' });
    expect((await client.query('select $1::int + 1 as n', [1])).rows[0].n).toBe(2);
    await gatewayIs();
  });

  it('discards the roles, settings and prepared statements that a client leaves behind', async () => {
    const [one, other] = [await connect(), await connect()];
    await one.query('set role l9_admin');
    await one.query("set search_path = 'nowhere'");
    await one.query("select set_config('jwt.claims.caller', 'L', false)");
    await one.query('prepare left_behind as select 1');
    await one.query('listen left_behind');
    for (const client of [one, other, gateway.instance.database.pool]) {
      expect(await identity(client)).toStrictEqual({ role: 'l9_gateway', login: 'l9_gateway' });
      const { rows } = await client.query(
        `select current_setting('search_path') as path, nullif(current_setting('jwt.claims.caller', true), '') as caller,
          (select count(*)::int from pg_prepared_statements where from_sql) as statements,
          (select count(*)::int from pg_listening_channels() c where c not in ('l9_identity', 'l9_embedding_models')) as channels`,
      );
      expect(rows[0].caller).toBeNull();
      expect(rows[0].path).not.toBe('nowhere');
      expect(rows[0].statements).toBe(0);
      expect(rows[0].channels).toBe(0);
    }
    await gatewayIs();
  });

  it('resets a client that made itself a superuser when its turn ends', async () => {
    const [one, other] = [await connect(), await connect()];
    await one.query('set session authorization postgres');
    expect((await identity(one)).role).toBe('l9_gateway');
    await one.query('begin; set session authorization postgres');
    expect((await identity(one)).role).toBe('postgres');
    await one.query('create table public.left_behind (a int); commit');
    for (const client of [one, other]) {
      expect(await identity(client)).toStrictEqual({ role: 'l9_gateway', login: 'l9_gateway' });
      await expect(client.query('drop table public.left_behind')).rejects.toMatchObject({ code: '42501' });
    }
    await gatewayIs();
    await one.query('begin; set session authorization postgres; drop table public.left_behind; commit');
  });

  it('keeps prepared statements of clients and of the gateway apart', async () => {
    const [one, other] = [await connect(), await connect()];
    for (let round = 0; round < 3; round++) {
      for (const [client, add] of [
        [one, 1],
        [other, 2],
      ] as const) {
        const { rows } = await client.query({ name: 'same', text: `select $1::int + ${add} as n`, values: [round] });
        expect(rows[0].n).toBe(round + add);
      }
      // The same query each time: PostGraphile prepares it once.
      await gatewayIs();
    }
    await one.query('deallocate all');
    await gatewayIs();
  });

  it('rolls back and frees the engine when a client disconnects in a transaction', async () => {
    const client = await connect();
    await client.query(asC);
    await client.query("select public.save_memory('never committed', project_id => 'p')");
    // No goodbye: as a killed process.
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    const rows = await gateway.sql('C', "select 1 from packet_store where content = 'never committed'");
    expect(rows).toHaveLength(0);
  });

  it('supports COPY TO and refuses COPY FROM without harm to the engine', async () => {
    const client = await connect();
    expect((await client.query('copy (select 1) to stdout')).rowCount).toBe(1);
    await client.query('begin; set session authorization postgres; create temporary table t (a int)');
    await expect(client.query('copy t from stdin')).rejects.toThrow(/does not support COPY FROM STDIN/);
    await client.query('rollback');
    await gatewayIs();
  });

  it('refuses statements that would stop the engine', async () => {
    const client = await connect();
    await expect(client.query("set transaction_timeout = '1ms'")).rejects.toMatchObject({ code: '0A000' });
    await expect(client.query("select set_config('idle_session_timeout', '1', false)")).rejects.toMatchObject({
      code: '0A000',
    });
    await expect(client.query('select pg_terminate_backend(pg_backend_pid()), 1 where true')).rejects.toMatchObject({
      code: '0A000',
    });
    await gatewayIs();
  });

  it('passes large results and large statements', async () => {
    const client = await connect();
    const { rows } = await client.query('select i, md5(i::text) as hash from generate_series(1, 100000) i');
    expect(rows).toHaveLength(100_000);
    for (const { i, hash } of rows) expect(hash).toBe(createHash('md5').update(String(i)).digest('hex'));
    const text = 'ä'.repeat(3_000_000);
    expect((await client.query('select length($1::text) as n', [text])).rows[0].n).toBe(3_000_000);
    expect((await client.query(`select length('${text}') as n`)).rows[0].n).toBe(3_000_000);
  });

  it('serves several clients at once while GraphQL is used', async () => {
    const workers = await Promise.all(
      Array.from({ length: 4 }, async (_, place) => {
        const client = await connect();
        return async () => {
          for (let round = 0; round < 15; round++) {
            await client.query(asC);
            const { rows } = await client.query({
              name: 'mine',
              text: 'select current_user::text as role, $1::int as n',
              values: [place],
            });
            expect(rows[0]).toStrictEqual({ role: 'l9_agent', n: place });
            await client.query(round % 2 ? 'commit' : 'rollback');
          }
        };
      }),
    );
    const asked = Array.from({ length: 40 }, () =>
      gateway.graphql('L', '{ memories(first: 1) { nodes { packetId } } }'),
    );
    const saves = Array.from({ length: 10 }, (_, n) =>
      gateway.tool('C', 'save_memory', { content: `side by side ${n}`, project_id: 'p' }),
    );
    const [answers, results] = await Promise.all([
      Promise.all(asked),
      Promise.all(saves),
      ...workers.map((work) => work()),
    ]);
    for (const answer of answers) expect(answer.errors).toBeUndefined();
    for (const result of results) expect(result.isError, result.text).toBe(false);
    await gatewayIs();
  });

  it('tells a client that the maximum number of clients is connected', async () => {
    const crowd = await Promise.allSettled(Array.from({ length: 30 }, connect));
    const refused = crowd.filter((one) => one.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const one of refused) expect((one.reason as { code: string }).code).toBe('53300');
    await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
    await seconds(0.1);
    await gatewayIs();
  });

  // PSQL names the psql of this machine.
  (process.env.PSQL ? it : it.skip)('serves psql itself: describe, and a script with an error', async () => {
    const run = (...args: string[]) =>
      new Promise<{ code: number | null; out: string }>((resolve) => {
        const child = spawn(
          process.execPath,
          ['gateway/src/cli.ts', 'psql', '--', '-X', '-v', 'ON_ERROR_STOP=1', ...args],
          {
            env: { ...process.env, ...gateway.home.env },
            stdio: ['ignore', 'pipe', 'pipe'],
          },
        );
        let out = '';
        child.stdout.on('data', (data) => (out += data));
        child.stderr.on('data', (data) => (out += data));
        child.on('exit', (code) => resolve({ code, out }));
      });
    const described = await run('-c', '\\d+ public.packet_store', '-c', '\\df+ public.save_memory');
    expect(described.code, described.out).toBe(0);
    expect(described.out).toMatch(/POLICY "tenant_isolation"/);
    expect(described.out).toMatch(/Saves a memory/);
    const failed = await run('-c', 'select 1/0');
    expect(failed.code).toBe(1);
    expect(failed.out).toMatch(/division by zero/);
  });
});

itOnEmbedded('rolls back a transaction that is left open, and disconnects its client', async () => {
  const { home, drop } = await createTestHome();
  const logger = pino({ level: 'silent' });
  const engine = await startEngine({ dataDir: join(home, 'data'), role: 'l9_gateway', migrates: false }, logger);
  const pool = enginePool(() => engine);
  await engine.exec('set session authorization postgres');
  await engine.exec('create table public.t (a int)');
  const { url, close } = await servePsql(() => engine, pool, home, logger, { idleInTransactionMs: 2_000 });
  try {
    const client = new pg.Client({ connectionString: url });
    const said = new Promise<Error & { code?: string }>((resolve) => client.on('error', resolve));
    await client.connect();
    await client.query('begin; set session authorization postgres; insert into public.t values (1)');
    // Waits for its turn behind the open transaction.
    const { rows } = await pool.query('select session_user::text as login, pg_current_xact_id_if_assigned() as xact');
    expect(rows).toStrictEqual([{ login: 'l9_gateway', xact: null }]);
    expect((await said).code).toBe('25P03');
    await expect(client.query('select 1')).rejects.toThrow();
    await engine.exec('set session authorization postgres');
    expect((await pool.query('select from public.t')).rowCount).toBe(0);

    const busy = new pg.Client({ connectionString: url });
    await busy.connect();
    await busy.query('begin');
    for (let round = 0; round < 10; round++) {
      await seconds(0.25);
      await busy.query('select 1');
    }
    await busy.query('commit');
    await busy.end();
  } finally {
    await close();
    await pool.end();
    await engine.close();
    await drop();
  }
});
