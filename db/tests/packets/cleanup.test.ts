// Expiry: what has expired goes, whether L cleans up or the scheduled job does, or both at once.

import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';

describe('cleanup', () => {
  let gateway: TestGateway;
  let acme: Record<string, string>;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    acme = await addTenant(gateway, 'acme');
  });
  afterAll(() => gateway.close());

  let serial = 0;
  /** Memories that expired so many seconds ago. */
  const expired = async (count: number, secondsAgo = 1, claims = {}): Promise<string[]> => {
    const rows = await gateway.sql(
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
    await gateway.inSuperuserSession(async (client) => {
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
    gateway.inSuperuserSession(async (client) =>
      (await client.query('select packet_id from public.packet_store where packet_id = any ($1)', [ids])).rows.map(
        ({ packet_id }) => packet_id as string,
      ),
    );
  const batch = async (maxRows = 1000) =>
    Number(
      (await gateway.instance.database.workerPool.query('select memories.delete_expired_batch($1) as n', [maxRows]))
        .rows[0].n,
    );

  it('by the job deletes what has expired in every tenant, and nothing else', async () => {
    const [a, b] = [await expired(3), await expired(2, 1, acme)];
    const [{ packet_id }] = await gateway.sql(
      'L',
      "insert into public.packet_store (envelope, project_id, ttl) values ('{\"content\": \"not yet\"}', 'l9', now() + interval '1 hour') returning packet_id",
    );
    expect(await batch()).toBe(5);
    expect(await left([...a, ...b])).toStrictEqual([]);
    expect(await left([packet_id])).toStrictEqual([packet_id]);
    expect(await batch()).toBe(0);
  });

  it('by the job goes in batches, the oldest first', async () => {
    const [young, old, older] = [await expired(2, 10), await expired(2, 20), await expired(2, 30)];
    expect(await batch(3)).toBe(3);
    expect(await left(older)).toStrictEqual([]);
    expect(await left(old)).toHaveLength(1);
    expect(await batch(3)).toBe(3);
    expect(await left(young)).toStrictEqual([]);
    for (const bad of [0, 100_001, null]) {
      await expect(
        gateway.instance.database.workerPool.query('select memories.delete_expired_batch($1)', [bad]),
      ).rejects.toMatchObject({ code: 'L9VAL' });
    }
  });

  it("by the job is on each tenant's own record, in the name of the job", async () => {
    const record = (claims: Record<string, string>) =>
      gateway.sql(
        'L',
        `select operation, caller, row_id, (details ->> 'deleted')::int as deleted from public.audit_log
         where caller = 'db:l9_worker' and operation in ('CLEANUP', 'DELETE') order by audit_id desc limit 3`,
        [],
        claims,
      );
    const [a, b] = [await expired(2), await expired(1, 1, acme)];
    await batch();
    expect(
      (await record({})).map(({ operation, row_id, deleted }) => [operation, row_id ?? deleted]).sort(),
    ).toStrictEqual([['CLEANUP', 2], ...a.map((id) => ['DELETE', id])].sort());
    expect(
      (await record(acme))
        .slice(0, 2)
        .map(({ operation, row_id, deleted }) => [operation, row_id ?? deleted])
        .sort(),
    ).toStrictEqual(
      [
        ['CLEANUP', 1],
        ['DELETE', b[0]],
      ].sort(),
    );
    const before = (await record({}))[0];
    await batch();
    expect((await record({}))[0], 'nothing to do leaves no row, every minute').toStrictEqual(before);
  });

  it('by the job is for the job alone', async () => {
    for (const caller of ['C', 'L']) {
      await expect(gateway.sql(caller, 'select memories.delete_expired_batch(1)')).rejects.toMatchObject({
        code: '42501',
      });
      await expect(gateway.sql(caller, 'select memories.delete_expired(1)')).rejects.toMatchObject({ code: '42501' });
    }
    await expect(gateway.instance.database.workerPool.query('select memories.delete_expired(1)')).rejects.toMatchObject(
      {
        code: '42501',
      },
    );
  });

  it('by L stays within its tenant and claims', async () => {
    const [own, others] = [await expired(2), await expired(2, 1, acme)];
    const cleanUp = async (claims = {}) =>
      Number((await gateway.sql('L', 'select public.delete_expired_memories() as n', [], claims))[0].n);
    expect(await cleanUp({ 'jwt.claims.scopes': '["global"]' })).toBe(0);
    expect(await cleanUp({ 'jwt.claims.projects': '["other"]' })).toBe(0);
    expect(await cleanUp()).toBe(2);
    expect([await left(own), (await left(others)).length]).toStrictEqual([[], 2]);
    expect(await cleanUp(acme)).toBe(2);
  });

  describeOnServer('beside other work', () => {
    it('by L and the job at once deletes each memory once, and neither waits for the other', async () => {
      const ids = await expired(400);
      const counts = await Promise.all([
        ...Array.from({ length: 3 }, () => batch(150)),
        ...Array.from({ length: 3 }, async () =>
          Number((await gateway.sql('L', 'select public.delete_expired_memories(150) as n'))[0].n),
        ),
      ]);
      const rest = await batch();
      expect(counts.reduce((sum, n) => sum + n, rest)).toBe(400);
      expect(await left(ids)).toStrictEqual([]);
      const [{ n, distinct }] = await gateway.sql(
        'L',
        "select count(*)::int as n, count(distinct row_id)::int as distinct from public.audit_log where operation = 'DELETE' and row_id = any ($1)",
        [ids],
      );
      expect([n, distinct]).toStrictEqual([400, 400]);
    });

    it('leaves to another cleanup what that one is deleting, without waiting', async () => {
      const ids = await expired(4);
      await gateway
        .asCaller('L', async (client) => {
          expect(Number((await client.query('select public.delete_expired_memories(2) as n')).rows[0].n)).toBe(2);
          expect(await batch()).toBe(2);
          throw new Error('undo');
        })
        .catch((error: Error) => expect(error.message, error.stack).toBe('undo'));
      expect(await left(ids)).toHaveLength(2);
      expect(await batch()).toBe(2);
    });
  });
});
