// kill -9 of the whole PostgreSQL server while eight connections write and another seals: on a cluster of its own, since
// the one that TEST_DATABASE_URL names is others' too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createTestHome, serverUrl, type TestHome } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { claimsOf, type House, openHouse } from '../support/house.ts';
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

describe('kill -9 of the server, under eight audited writers', { skip }, () => {
  let home: TestHome;
  let house: House | undefined;
  let url: string;

  const start = () => {
    const { status, stdout, stderr } = cluster('start');
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };
  before(async () => {
    url = start();
    home = await createTestHome(url);
  });
  after(async () => {
    // Whatever still waits for the server hears that it is gone.
    cluster('remove');
    await Promise.allSettled([house?.close(), home?.drop()]);
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
      assert.ok(isKilled(), `a write failed before the kill: ${error}`);
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
      assert.ok(isKilled(), `sealing failed before the kill: ${error}`);
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
      assert.ok(isKilled(), `the head could not be read before the kill: ${error}`);
    } finally {
      await client.end().catch(() => {});
    }
  }

  for (const round of [1, 2])
    it(`loses no acknowledged write and no audit row, has neither without the other, and the chain holds (${round})`, async () => {
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
      assert.equal(cluster('kill').status, 0);
      await running;
      assert.ok(acknowledged.length >= enough, 'there was something to lose');
      assert.equal(start(), url);

      const logged = await root(
        "select operation, row_id from public.audit_log where operation in ('INSERT', 'UPDATE', 'DELETE')",
      );
      const onRecord = new Set(logged.map(({ operation, row_id }) => `${operation} ${row_id}`));
      assert.deepEqual(
        acknowledged.filter((write) => !onRecord.has(write)),
        [],
        'what was acknowledged is on the record',
      );
      assert.equal(onRecord.size, logged.length, 'once');

      // A memory is there exactly where its INSERT is on the record and no DELETE is; changed where an UPDATE is.
      const stored = await root('select packet_id, tags from public.packet_store');
      const expected = logged
        .filter(({ operation, row_id }) => operation === 'INSERT' && !onRecord.has(`DELETE ${row_id}`))
        .map(({ row_id }) => `${row_id} ${onRecord.has(`UPDATE ${row_id}`) ? 'again' : ''}`);
      assert.deepEqual(stored.map(({ packet_id, tags }) => `${packet_id} ${tags}`).sort(), expected.sort());

      assert.ok(head);
      const [verified] = await root('select v.* from public.verify_audit(head => $1) v', [head]);
      assert.equal(verified.ok, true, verified.reason);
      assert.ok(Number(verified.seals) > 1, 'sealing went on meanwhile');
      // And goes on, leaving nothing out.
      for (let tries = 0; tries < 100; tries++) await root('select audit.seal_audit()');
      const [now] = await root(
        'select v.*, (select max(era) from public.audit_seals) as era from public.verify_audit(head => $1) v',
        [head],
      );
      assert.deepEqual([now.ok, Number(now.unsealed), now.era], [true, 0, 1], now.reason);
      const [{ n }] = await root('select count(*)::int as n from public.audit_log');
      assert.equal(Number(now.rows), n);
    });

  it('is lived through by a gateway: it goes on to save, to embed and to seal', async () => {
    // Four times a second's saves are more than the real model is through with in time on a busy machine.
    house = await openHouse({ home: await createTestHome(url), embedder: standIn });
    const { sql, tool } = house;
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
      assert.equal(cluster('kill').status, 0);
      isOver = true;
      assert.ok(await Promise.race([saving, sleep(30_000, null, { ref: false })]), 'a save is never answered');
      assert.equal(start(), url);
      await eventually(() => save(`after ${round}`));
    }
    const { workerPool } = house.gateway.database;
    const isEmbedded = async () =>
      Number((await workerPool.query('select pending from embeddings.embedding_backlog()')).rows[0].pending) === 0;
    await workerPool.query('update embeddings.pending_embeddings set leased_until = null');
    await eventually(() => isEmbedded().catch(() => false));
    const isSealed = async () => !(await workerPool.query('select audit.is_audit_unsealed() as due')).rows[0].due;
    await eventually(() => isSealed().catch(() => false));
    assert.equal((await sql('L', 'select v.ok from public.verify_audit() v'))[0].ok, true);
  });
});
