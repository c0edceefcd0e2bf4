// The embedded engine beside the server that it is a part of.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { inTransaction } from '../../src/database/index.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describeOnEmbedded('the embedded engine', () => {
  const gateway = useTestGateway({ embedder: standIn, env: { DATABASE_QUEUE_TIMEOUT_MS: '11000' } });

  it('lets HTTP answer while one statement runs', async () => {
    const { database, url } = gateway.instance;
    let isRunning = true;
    const asked = database.pool.query('select count(*) from generate_series(1, 3000000)').finally(() => {
      isRunning = false;
    });
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect(isRunning).toBe(true);
    await asked;
  });

  it('lets HTTP answer while transactions are queued', async () => {
    const { database, url } = gateway.instance;
    let left = 300;
    const queued = Array.from({ length: left }, () =>
      inTransaction(database.pool, {}, (client) => client.query('select 1')).then(() => left--),
    );
    const health = await fetch(`${url}/health`);
    expect(health.status).toBe(200);
    expect(left).toBeGreaterThan(0);
    await Promise.all(queued);
  });

  it('is started again when it ends, with what was saved and the channels that are listened to', async () => {
    const { database } = gateway.instance;
    let notified = 0;
    await database.listen('a_channel', () => {
      notified += 1;
    });
    const id = await gateway.save('C', 'saved before the engine ended');
    // This ends a session, and so the engine.
    const client = await database.pool.connect();
    await client.query("begin; set local transaction_timeout = '1ms'");
    await sleep(20);
    await expect(client.query('select 1')).rejects.toThrow();
    client.release();
    expect((await gateway.call('C', 'get_memory', { packet_id: id })).memory.content).toMatch(/before the engine/);
    await gateway.save('C', 'saved after the engine ended');
    const { rows } = await database.pool.query('select session_user::text as login');
    expect(rows[0].login).toBe('l9_gateway');
    const before = notified;
    await database.pool.query('notify a_channel');
    await eventually(() => notified > before);
  });

  it('cancels a statement of a caller that takes too long, and goes on with the same session', async () => {
    const { database } = gateway.instance;
    const sessionOf = async () => (await database.pool.query('select pg_postmaster_start_time() as at')).rows[0].at;
    const session = await sessionOf();
    const endless = inTransaction(database.pool, {}, (client) =>
      client.query('select count(*) from generate_series(1, 1000000000)'),
    );
    const read = sleep(100).then(() => gateway.call('L', 'get_memory_stats'));
    await Promise.all([expect(endless).rejects.toMatchObject({ code: '57014' }), read]);
    expect(await sessionOf()).toStrictEqual(session);
  });
});
