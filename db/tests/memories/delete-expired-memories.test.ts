// Expired memories are deleted, whether an actor that may clean up does it, the scheduled job, or both at once.
import { callSaveMemory, expireMemories, storedMemories } from '../support/memories.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('delete_expired_memories', () => {
  const db = useTestDatabase();
  let acme: Record<string, string>;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
  });

  let serial = 0;
  /** Memories that expired so many seconds ago. */
  const expired = async (count: number, secondsAgo = 1, claims = {}): Promise<string[]> => {
    const rows = await db.sql(
      'L',
      `insert into public.packet_store (envelope, project_id, ttl)
       select jsonb_build_object('content', 'expired ' || $1::int + i), 'l9', now() + interval '1 hour' from generate_series(1, $2::int) i
       returning packet_id`,
      [serial, count],
      claims,
    );
    serial += count;
    const ids = rows.map(({ packet_id }) => packet_id as string);
    await expireMemories(db, ids, secondsAgo);
    return ids;
  };
  const left = (ids: string[]) => storedMemories(db, ids);
  const batch = async (maxRows = 1000) =>
    Number(
      (await db.asWorker('select coalesce(sum(deleted), 0) as n from memories.delete_expired_batch($1)', [maxRows]))[0]
        .n,
    );

  it('deletes the expired memories of every tenant, and no others, when the job runs', async () => {
    const [a, b] = [await expired(3), await expired(2, 1, acme)];
    const [{ packet_id }] = await db.sql(
      'L',
      "insert into public.packet_store (envelope, project_id, ttl) values ('{\"content\": \"not yet\"}', 'l9', now() + interval '1 hour') returning packet_id",
    );
    expect(await batch()).toBe(5);
    expect(await left([...a, ...b])).toStrictEqual([]);
    expect(await left([packet_id])).toStrictEqual([packet_id]);
    expect(await batch()).toBe(0);
  });

  it('deletes in batches, the oldest first', async () => {
    const [young, old, older] = [await expired(2, 10), await expired(2, 20), await expired(2, 30)];
    expect(await batch(3)).toBe(3);
    expect(await left(older)).toStrictEqual([]);
    expect(await left(old)).toHaveLength(1);
    expect(await batch(3)).toBe(3);
    expect(await left(young)).toStrictEqual([]);
    for (const bad of [0, 100_001, null]) {
      await expect(db.asWorker('select memories.delete_expired_batch($1)', [bad])).rejects.toMatchObject({
        code: 'L9VAL',
      });
    }
  });

  it('audits what the job deletes in each tenant, in the name of the job', async () => {
    const record = (claims: Record<string, string>) =>
      db.sql(
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
    expect((await record({}))[0], 'a run that deletes nothing leaves no row').toStrictEqual(before);
  });

  it('lets only the job run the cleanup of all tenants', async () => {
    for (const caller of ['C', 'L']) {
      await expect(db.sql(caller, 'select memories.delete_expired_batch(1)')).rejects.toMatchObject({
        code: '42501',
      });
      await expect(db.sql(caller, 'select memories.delete_expired(1)')).rejects.toMatchObject({ code: '42501' });
    }
    await expect(db.asWorker('select memories.delete_expired(1)')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('stays within the tenant and claims of L', async () => {
    const [own, others] = [await expired(2), await expired(2, 1, acme)];
    const cleanUp = async (claims = {}) =>
      Number((await db.sql('L', 'select public.delete_expired_memories() as n', [], claims))[0].n);
    expect(await cleanUp({ 'jwt.claims.scopes': '["global"]' })).toBe(0);
    expect(await cleanUp({ 'jwt.claims.projects': '["other"]' })).toBe(0);
    expect(await cleanUp()).toBe(2);
    expect([await left(own), (await left(others)).length]).toStrictEqual([[], 2]);
    expect(await cleanUp(acme)).toBe(2);
  });

  it('deletes for an agent only memories that it could have read', async () => {
    await db.asSuperuser(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
       select tenant_id, 'Janitor', 'Janitor', 'janitor', 'janitor', 'l9_agent', '{global}', '{global}', true from public.tenants`,
    );
    const saveExpired = async (content: string, claims = {}): Promise<string> => {
      const { memory } = await callSaveMemory(db, 'C', { scope: 'global', project_id: undefined, content }, claims);
      await expireMemories(db, [memory.packet_id]);
      return memory.packet_id;
    };
    const isThere = async (id: string) => (await left([id])).length === 1;
    const [org, user] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
    const ofTenant = await saveExpired('of the tenant, expired');
    const ofOrg = await saveExpired('of an org, expired', { 'jwt.claims.org_id': org });
    const ofUser = await saveExpired('of a user, expired', { 'jwt.claims.org_id': org, 'jwt.claims.user_id': user });
    const cleanUp = async (claims: Record<string, string>) =>
      Number((await db.sql('Janitor', 'select public.delete_expired_memories() as n', [], claims))[0].n);
    expect(await cleanUp({})).toBe(1);
    expect([await isThere(ofTenant), await isThere(ofOrg), await isThere(ofUser)]).toStrictEqual([false, true, true]);
    expect(await cleanUp({ 'jwt.claims.org_id': org })).toBe(1);
    expect([await isThere(ofOrg), await isThere(ofUser)]).toStrictEqual([false, true]);
    const [{ n }] = await db.sql('L', 'select public.delete_expired_memories() as n');
    expect(Number(n), 'an admin has its whole tenant').toBe(1);
  });

  it('keeps memories that have not expired, and audits each deletion under the name of the tool', async () => {
    const { memory } = await callSaveMemory(db, 'L', { content: 'not expired', ttl: '2099-01-01T00:00:00Z' });
    const [id] = await expired(1);
    const [{ n }] = await db.sql('L', 'select public.delete_expired_memories() as n', [], {
      'l9.tool_name': 'delete_expired_memories',
    });
    expect(Number(n)).toBe(1);
    expect(await left([memory.packet_id, id!])).toStrictEqual([memory.packet_id]);
    const deletions = await db.sql(
      'L',
      "select row_id from public.audit_log where operation = 'DELETE' and tool_name = 'delete_expired_memories'",
    );
    expect(deletions).toStrictEqual([{ row_id: id }]);
  });

  describeOnServer('concurrent cleanups', () => {
    it('deletes each memory once when L and the job clean up at once, and neither waits', async () => {
      const ids = await expired(400);
      const counts = await Promise.all([
        ...Array.from({ length: 3 }, () => batch(150)),
        ...Array.from({ length: 3 }, async () =>
          Number((await db.sql('L', 'select public.delete_expired_memories(150) as n'))[0].n),
        ),
      ]);
      const rest = await batch();
      expect(counts.reduce((sum, n) => sum + n, rest)).toBe(400);
      expect(await left(ids)).toStrictEqual([]);
      const [{ n, distinct }] = await db.sql(
        'L',
        "select count(*)::int as n, count(distinct row_id)::int as distinct from public.audit_log where operation = 'DELETE' and row_id = any ($1)",
        [ids],
      );
      expect([n, distinct]).toStrictEqual([400, 400]);
    });

    it('skips memories that another cleanup is deleting, without waiting', async () => {
      const ids = await expired(4);
      await db
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
