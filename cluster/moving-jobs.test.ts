// The background jobs of a tenant that moves: what runs when it is stopped is waited for, and what comes later leaves nothing behind.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../db/tests/support/eventually.ts';
import { addTenant } from '../db/tests/support/tenants.ts';
import { ACCESS_LOG, TOMBSTONE } from '../gateway/src/commands/tenant/tables.ts';
import { moved, rowsOfTenant } from '../gateway/tests/commands/support/tenants.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { createTestHome, type TestHome } from '../gateway/tests/support/home.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';
import { addWaits, type Claims, goOn, isWaiting, type Place, stateIn, wait } from './support/moves.ts';

// What the gateway's other jobs call, as the role that they log in as.
const JOBS = [
  'select memories.delete_expired_batch()',
  'select facts.roll_up_accesses()',
  'select ranking.count_stale_audiences(1000)',
  'select embeddings.requeue_stale_contexts()',
  "select embeddings.enqueue_missing_embeddings('stand-in')",
  "select extraction.lease_extractions(10, '1 minute')",
  'select archive.collect_archives()',
  'select tasks.sweep_tasks()',
  'select audit.seal_audit()',
];

describe('the jobs of a tenant that moves', () => {
  let homes: TestHome[] = [];
  let here: TestGateway & Place;
  let there: TestGateway & Place;
  const provider = { isHeld: false, calls: 0 };
  const embedder = {
    ...standIn,
    async embed(texts: string[]) {
      provider.calls += 1;
      while (provider.isHeld) await sleep(20);
      return standIn.embed(texts);
    },
  };

  beforeAll(async () => {
    homes = [await createTestHome(), await createTestHome()];
    const gateways: (TestGateway & Place)[] = [];
    for (const [n, home] of homes.entries()) {
      const options = { embedder: n === 0 ? embedder : standIn, home: { ...home, drop: async () => {} } };
      gateways.push({ ...(await startTestGateway(options)), superuserUrl: home.superuserUrl });
    }
    [here, there] = gateways as [TestGateway & Place, TestGateway & Place];
    for (const gateway of gateways) await addWaits(gateway);
  });
  afterAll(async () => {
    provider.isHeld = false;
    for (const gateway of [here, there]) await gateway?.close();
    for (const home of homes) await home.drop();
  });

  const runJobs = async (gateway: TestGateway) => {
    for (const job of JOBS) await gateway.asWorker(job);
  };
  const save = async (claims: Claims, content: string): Promise<string> => {
    const [{ id }] = await here.sql(
      'C',
      "select (m.memory).packet_id as id from public.save_memory($1, project_id => 'l9') m",
      [content],
      claims,
    );
    return id;
  };
  const vectorsIn = async (gateway: TestGateway, packetId: string): Promise<number> =>
    (await gateway.asSuperuser('select from public.memory_embeddings where packet_id = $1', [packetId])).length;
  const expectNothingLeft = async (claims: Claims) => {
    const rows = await rowsOfTenant(here, claims['jwt.claims.tenant_id']);
    const left = Object.keys(rows).filter((name) => rows[name]!.length > 0);
    expect(left.filter((name) => ![...TOMBSTONE, ACCESS_LOG].includes(name))).toStrictEqual([]);
  };

  it('are waited for while they write, and what they wrote comes along', async () => {
    const claims = await addTenant(here, 'first');
    await wait(here, 'vector');
    const id = await save(claims, 'The lamp in the hall is green.');
    await eventually(() => isWaiting(here));
    const move = moved(here, there, {}, claims['jwt.claims.tenant_id']);
    await eventually(async () => (await stateIn(here, claims)) === 'stopped');
    expect(await stateIn(there, claims)).toBeNull();
    await goOn(here, 'vector');
    const { code, said } = await move;
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/serves first/)]);
    expect(await vectorsIn(there, id)).toBe(1);
    await expectNothingLeft(claims);
  });

  it('leave nothing behind if they end before the rows are removed, and are done by the other database', async () => {
    const gateways = [here, there] as const;
    const claims = await addTenant(here, 'second');
    const tenant = claims['jwt.claims.tenant_id'];
    const calls = provider.calls;
    provider.isHeld = true;
    const id = await save(claims, 'The lamp of the second is green.');
    const expired = await save(claims, 'The lamp of the second was red.');
    await here.inSuperuserSession(async (session) => {
      // Nobody may set a time that is past.
      await session.query('set session_replication_role = replica');
      await session.query("update public.packet_store set ttl = now() - interval '1 hour' where packet_id = $1", [
        expired,
      ]);
    });
    // The job has leased the memory, and its provider does not answer yet.
    await eventually(() => provider.calls > calls);
    await wait(there, 'arrived');
    const move = moved(here, there, {}, tenant);
    await eventually(() => isWaiting(there));
    expect(await stateIn(here, claims)).toBe('moved');
    provider.isHeld = false;
    // Nothing keeps a job from writing to rows that nobody is served any more.
    await eventually(async () => (await vectorsIn(here, id)) === 1);
    await runJobs(here);
    expect(await vectorsIn(there, id)).toBe(0);
    expect(await there.asSuperuser('select from public.packet_store where packet_id = $1', [expired])).toHaveLength(1);
    await goOn(there, 'arrived');
    const { code, said } = await move;
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/serves second/)]);
    // The lease that came along ends by itself, a minute after it began.
    await there.asWorker('select embeddings.release_embedding_leases()');
    await runJobs(there);
    await there.embedded();
    expect(await vectorsIn(there, id)).toBe(1);
    expect(await there.asSuperuser('select from public.packet_store where packet_id = $1', [expired])).toStrictEqual(
      [],
    );
    await here.embedded();
    await runJobs(here);
    await expectNothingLeft(claims);
    for (const gateway of gateways) {
      const [verified] = await gateway.asSuperuser('select v.ok, v.reason from public.verify_audit() v');
      expect(verified).toStrictEqual({ ok: true, reason: null });
    }
    const [{ problem }] = await there.asSuperuser('select transfer.carried_audit_problem($1) as problem', [tenant]);
    expect(problem).toBeNull();
  });
});
