// Expiry: what has expired goes, whether L cleans up or the scheduled job does, or both at once.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

describe('cleanup', () => {
  let house: House;
  let acme: Record<string, string>;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    acme = await addTenant(house, 'acme');
  });
  after(() => house.close());

  let serial = 0;
  /** Memories that expired so many seconds ago. */
  const expired = async (count: number, secondsAgo = 1, claims = {}): Promise<string[]> => {
    const rows = await house.sql(
      'L',
      `insert into public.packet_store (envelope, project_id, ttl)
       select jsonb_build_object('content', 'expired ' || $1::int + i), 'l9', now() + interval '1 hour' from generate_series(1, $2::int) i
       returning packet_id`,
      [serial, count],
      claims,
    );
    serial += count;
    const ids = rows.map(({ packet_id }) => packet_id as string);
    // No caller can write what has expired already: time is made to pass.
    await asSuperuser(house, async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query(
        'update public.packet_store set ttl = now() - make_interval(secs => $2) where packet_id = any ($1)',
        [ids, secondsAgo],
      );
      await client.query('reset session_replication_role');
    });
    return ids;
  };
  const left = (ids: string[]) =>
    asSuperuser(house, async (client) =>
      (await client.query('select packet_id from public.packet_store where packet_id = any ($1)', [ids])).rows.map(
        ({ packet_id }) => packet_id as string,
      ),
    );
  const batch = async (maxRows = 1000) =>
    Number(
      (await house.gateway.database.workerPool.query('select memories.delete_expired_batch($1) as n', [maxRows]))
        .rows[0].n,
    );

  it('by the job deletes what has expired in every tenant, and nothing else', async () => {
    const [a, b] = [await expired(3), await expired(2, 1, acme)];
    const [{ packet_id }] = await house.sql(
      'L',
      "insert into public.packet_store (envelope, project_id, ttl) values ('{\"content\": \"not yet\"}', 'l9', now() + interval '1 hour') returning packet_id",
    );
    assert.equal(await batch(), 5);
    assert.deepEqual(await left([...a, ...b]), []);
    assert.deepEqual(await left([packet_id]), [packet_id]);
    assert.equal(await batch(), 0);
  });

  it('by the job goes in batches, the oldest first', async () => {
    const [young, old, older] = [await expired(2, 10), await expired(2, 20), await expired(2, 30)];
    assert.equal(await batch(3), 3);
    assert.deepEqual(await left(older), []);
    assert.equal((await left(old)).length, 1);
    assert.equal(await batch(3), 3);
    assert.deepEqual(await left(young), []);
    for (const bad of [0, 100_001, null]) {
      await assert.rejects(house.gateway.database.workerPool.query('select memories.delete_expired_batch($1)', [bad]), {
        code: 'L9VAL',
      });
    }
  });

  it("by the job is on each tenant's own record, in the name of the job", async () => {
    const record = (claims: Record<string, string>) =>
      house.sql(
        'L',
        `select operation, caller, row_id, (details ->> 'deleted')::int as deleted from public.audit_log
         where caller = 'db:l9_worker' and operation in ('CLEANUP', 'DELETE') order by audit_id desc limit 3`,
        [],
        claims,
      );
    const [a, b] = [await expired(2), await expired(1, 1, acme)];
    await batch();
    assert.deepEqual(
      (await record({})).map(({ operation, row_id, deleted }) => [operation, row_id ?? deleted]).sort(),
      [['CLEANUP', 2], ...a.map((id) => ['DELETE', id])].sort(),
    );
    assert.deepEqual(
      (await record(acme))
        .slice(0, 2)
        .map(({ operation, row_id, deleted }) => [operation, row_id ?? deleted])
        .sort(),
      [
        ['CLEANUP', 1],
        ['DELETE', b[0]],
      ].sort(),
    );
    const before = (await record({}))[0];
    await batch();
    assert.deepEqual((await record({}))[0], before, 'nothing to do leaves no row, every minute');
  });

  it('by the job is for the job alone', async () => {
    for (const caller of ['C', 'L']) {
      await assert.rejects(house.sql(caller, 'select memories.delete_expired_batch(1)'), { code: '42501' });
      await assert.rejects(house.sql(caller, 'select memories.delete_expired(1)'), { code: '42501' });
    }
    await assert.rejects(house.gateway.database.workerPool.query('select memories.delete_expired(1)'), {
      code: '42501',
    });
  });

  it('by L stays within its tenant and claims', async () => {
    const [own, others] = [await expired(2), await expired(2, 1, acme)];
    const cleanUp = async (claims = {}) =>
      Number((await house.sql('L', 'select public.delete_expired_memories() as n', [], claims))[0].n);
    assert.equal(await cleanUp({ 'jwt.claims.scopes': '["global"]' }), 0);
    assert.equal(await cleanUp({ 'jwt.claims.projects': '["other"]' }), 0);
    assert.equal(await cleanUp(), 2);
    assert.deepEqual([await left(own), (await left(others)).length], [[], 2]);
    assert.equal(await cleanUp(acme), 2);
  });

  describe('beside other work', { skip: engine === 'embedded' && 'it has one connection' }, () => {
    it('by L and the job at once deletes each memory once, and neither waits for the other', async () => {
      const ids = await expired(400);
      const counts = await Promise.all([
        ...Array.from({ length: 3 }, () => batch(150)),
        ...Array.from({ length: 3 }, async () =>
          Number((await house.sql('L', 'select public.delete_expired_memories(150) as n'))[0].n),
        ),
      ]);
      const rest = await batch();
      assert.equal(
        counts.reduce((sum, n) => sum + n, rest),
        400,
      );
      assert.deepEqual(await left(ids), []);
      const [{ n, distinct }] = await house.sql(
        'L',
        "select count(*)::int as n, count(distinct row_id)::int as distinct from public.audit_log where operation = 'DELETE' and row_id = any ($1)",
        [ids],
      );
      assert.deepEqual([n, distinct], [400, 400]);
    });

    it('leaves to another cleanup what that one is deleting, without waiting', async () => {
      const ids = await expired(4);
      await house
        .asCaller('L', async (client) => {
          assert.equal(Number((await client.query('select public.delete_expired_memories(2) as n')).rows[0].n), 2);
          assert.equal(await batch(), 2);
          throw new Error('undo');
        })
        .catch((error: Error) => assert.equal(error.message, 'undo', error.stack));
      assert.equal((await left(ids)).length, 2);
      assert.equal(await batch(), 2);
    });
  });
});
