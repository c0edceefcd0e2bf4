// kill -9 of the whole PostgreSQL server while eight connections write and another seals. It uses a separate cluster,
// because other tests use the one of TEST_DATABASE_URL.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { claimsOf } from '../../../db/tests/support/sessions.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

const script = join(import.meta.dirname, '..', '..', '..', '.ci', 'postgres');
const env = { ...process.env, L9_CI_CLUSTER: `kill-${process.pid}` };
const cluster = (...args: string[]) =>
  spawnSync('bash', [script, ...args], { env, encoding: 'utf8', timeout: 120_000 });
const skip = !serverUrl
  ? 'needs a server: TEST_DATABASE_URL'
  : cluster('installed').status !== 0
    ? 'needs an installation that .ci/postgres can start a second cluster of'
    : false;

const WRITERS = 8;

(skip ? describe.skip : describe)('kill -9 of the server, under eight audited writers', () => {
  let home: TestHome;
  let gateway: TestGateway | undefined;
  let url: string;

  const start = () => {
    const { status, stdout, stderr } = cluster('start');
    expect(status, stderr).toBe(0);
    return stdout.trim();
  };
  beforeAll(async () => {
    url = start();
    home = await createTestHome(url);
  });
  afterAll(async () => {
    // Whatever still waits for the server hears that it is gone.
    cluster('remove');
    await Promise.allSettled([gateway?.close(), home?.drop()]);
  });

  const connect = async (connectionString: string) => {
    const client = new pg.Client({ connectionString });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  // biome-ignore lint/suspicious/noExplicitAny: rows differ by query
  async function root(query: string, values: unknown[] = []): Promise<any[]> {
    const client = await connect(home.superuserUrl!);
    try {
      return (await client.query(query, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** What was acknowledged: `INSERT id`, `UPDATE id`, `DELETE id`. */
  const acknowledged: string[] = [];
  let head: string | null = null;

  async function writer(number: number, round: number, isKilled: () => boolean) {
    const client = await connect(home.env.DATABASE_URL!);
    const settings = Object.entries(claimsOf('C'))
      .map(([name, value]) => `set_config('${name}', '${value}', true)`)
      .join(', ');
    const transaction = async (query: string, values: unknown[]) => {
      await client.query(`begin; select ${settings}`);
      const { rows } = await client.query(query, values);
      await client.query('commit');
      return rows[0];
    };
    try {
      for (let n = 0; ; n++) {
        const { id } = await transaction(
          "select ((public.save_memory($1, scope => 'global')).memory).packet_id as id",
          [`round ${round}, writer ${number}, memory ${n}`],
        );
        acknowledged.push(`INSERT ${id}`);
        if (n % 3 === 1) {
          await transaction("select public.update_memory($1, tags => '{again}')", [id]);
          acknowledged.push(`UPDATE ${id}`);
        }
        if (n % 5 === 2) {
          await transaction('select public.delete_memory($1)', [id]);
          acknowledged.push(`DELETE ${id}`);
        }
      }
    } catch (error) {
      expect(isKilled(), `a write failed before the kill: ${error}`).toBe(true);
    } finally {
      await client.end().catch(() => {});
    }
  }

  async function sealer(isKilled: () => boolean) {
    const client = await connect(home.env.DATABASE_URL!);
    try {
      await client.query('set role l9_worker');
      for (;;) await client.query('select audit.seal_audit(25)');
    } catch (error) {
      expect(isKilled(), `sealing failed before the kill: ${error}`).toBe(true);
    } finally {
      await client.end().catch(() => {});
    }
  }

  async function auditor(isKilled: () => boolean) {
    const client = await connect(home.superuserUrl!);
    try {
      for (;;) {
        head = (await client.query('select hash from public.audit_head()')).rows[0].hash;
        await sleep(10);
      }
    } catch (error) {
      expect(isKilled(), `the head could not be read before the kill: ${error}`).toBe(true);
    } finally {
      await client.end().catch(() => {});
    }
  }

  for (const round of [1, 2])
    it(`keeps every acknowledged write with its audit row, in an intact hash chain (${round})`, async () => {
      let killed = false;
      const isKilled = () => killed;
      const enough = acknowledged.length + 300;
      const work = [
        ...Array.from({ length: WRITERS }, (_, number) => writer(number, round, isKilled)),
        sealer(isKilled),
        auditor(isKilled),
      ];
      const running = Promise.all(work);
      running.catch(() => {});
      const deadline = Date.now() + 60_000;
      while (acknowledged.length < enough && Date.now() < deadline) await sleep(5);
      killed = true;
      expect(cluster('kill').status).toBe(0);
      await running;
      expect(acknowledged.length, 'there was something to lose').toBeGreaterThanOrEqual(enough);
      expect(start()).toBe(url);

      const logged = await root(
        `select operation, row_id from public.audit_log
        where table_name = 'packet_store' and operation in ('INSERT', 'UPDATE', 'DELETE')`,
      );
      const onRecord = new Set(logged.map(({ operation, row_id }) => `${operation} ${row_id}`));
      expect(
        acknowledged.filter((write) => !onRecord.has(write)),
        'every acknowledged save has its audit row',
      ).toStrictEqual([]);
      expect(onRecord.size, 'once').toBe(logged.length);

      // A memory exists exactly if its INSERT is audited and no DELETE is; it is changed if an UPDATE is audited.
      const stored = await root('select packet_id, tags from public.packet_store');
      const expected = logged
        .filter(({ operation, row_id }) => operation === 'INSERT' && !onRecord.has(`DELETE ${row_id}`))
        .map(({ row_id }) => `${row_id} ${onRecord.has(`UPDATE ${row_id}`) ? 'again' : ''}`);
      expect(stored.map(({ packet_id, tags }) => `${packet_id} ${tags}`).sort()).toStrictEqual(expected.sort());

      expect(head).toBeTruthy();
      const [verified] = await root('select v.* from public.verify_audit(head => $1) v', [head]);
      expect(verified.ok, verified.reason).toBe(true);
      expect(Number(verified.seals), 'sealing went on meanwhile').toBeGreaterThan(1);
      // And goes on, leaving nothing out.
      for (let tries = 0; tries < 100; tries++) await root('select audit.seal_audit()');
      const [now] = await root(
        'select v.*, (select max(era) from public.audit_seals) as era from public.verify_audit(head => $1) v',
        [head],
      );
      expect([now.ok, Number(now.unsealed), now.era], now.reason).toStrictEqual([true, 0, 1]);
      const [{ n }] = await root('select count(*)::int as n from public.audit_log');
      expect(Number(now.rows)).toBe(n);
    });

  it('lets a running gateway go on saving, embedding and sealing', async () => {
    // Four times a second's saves are more than the real model is through with in time on a busy machine.
    gateway = await startTestGateway({ home: await createTestHome(url), embedder: standIn });
    const { sql, tool } = gateway;
    const save = (content: string) =>
      tool('C', 'save_memory', { content, scope: 'global' }).then(
        ({ isError }) => !isError,
        () => false,
      );
    for (let round = 0; round < 4; round++) {
      // Jobs are under way when it happens.
      let isOver = false;
      const saving = Promise.all(
        Array.from({ length: 4 }, async (_, saver) => {
          for (let n = 0; !isOver; n++) await save(`before ${round} ${saver} ${n}`);
        }),
      );
      await sleep(700);
      expect(cluster('kill').status).toBe(0);
      isOver = true;
      expect(
        await Promise.race([saving, sleep(30_000, null, { ref: false })]),
        'a save is never answered',
      ).toBeTruthy();
      expect(start()).toBe(url);
      await eventually(() => save(`after ${round}`));
    }
    const { workerPool } = gateway.instance.database;
    const isEmbedded = async () =>
      Number((await workerPool.query('select pending from embeddings.embedding_backlog()')).rows[0].pending) === 0;
    await workerPool.query('update embeddings.pending_embeddings set leased_until = null');
    await eventually(() => isEmbedded().catch(() => false));
    const isSealed = async () => !(await workerPool.query('select audit.is_audit_unsealed() as due')).rows[0].due;
    await eventually(() => isSealed().catch(() => false));
    expect((await sql('L', 'select v.ok from public.verify_audit() v'))[0].ok).toBe(true);
  });
});
