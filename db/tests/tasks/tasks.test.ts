// Tasks: what jobs write down of their work, without a word of what it is about, for those whom it concerns.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { deleteExpired } from '../../../gateway/src/jobs/delete-expired.ts';
import { queueJobRun, withJobRun } from '../../../gateway/src/jobs/job-runs.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { addOperator, addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { embedder } from '../events/words.ts';

const tenantId = '00000000-0000-7000-8000-000000000001';
const logger = pino({ level: 'silent' });

describe('tasks', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder });
  });
  after(() => house.close());

  const pool = () => house.gateway.database.workerPool;
  const rows = (type: string) => house.asSuperuser('select * from public.tasks where type = $1 order by id', [type]);
  const types = async (caller: string, claims: Record<string, string> = {}) =>
    (await house.sql(caller, 'select type from public.tasks order by type', [], claims)).map(({ type }) => type);

  it('are running, then completed with what came of them', async () => {
    const task = { type: 'first', tenantId, payload: { model: 'words' }, scope: 'developer' };
    const answer = await withJobRun(
      pool(),
      task,
      logger,
      async () => {
        const [row] = await rows('first');
        assert.deepEqual([row.status, row.payload, row.completed_at], ['running', { model: 'words' }, null]);
        return 7;
      },
      (n) => ({ n }),
    );
    assert.equal(answer, 7);
    const [row] = await rows('first');
    assert.deepEqual([row.status, row.result, row.error], ['completed', { n: 7 }, null]);
    assert.ok(row.completed_at >= row.started_at);
  });

  it('fail with the name of the error and nothing of its text', async () => {
    const failing = (error: Error) =>
      withJobRun(pool(), { type: 'second', tenantId }, logger, () => Promise.reject(error));
    await assert.rejects(
      failing(Object.assign(new Error('the secret is hunter2'), { name: 'Provider Down: hunter2' })),
      /hunter2/,
    );
    await assert.rejects(failing(Object.assign(new Error('Key (x)=(hunter2)'), { code: '23505' })));
    assert.deepEqual(
      (await rows('second')).map(({ status, error }) => [status, error]),
      [
        ['failed', 'Provider'],
        ['failed', '23505'],
      ],
    );
  });

  it('wait in the queue under their key, once, and one left behind by a process that died has failed', async () => {
    const task = { type: 'third', tenantId, jobKey: 'third l9' };
    const [id] = await queueJobRun(pool(), task, logger);
    assert.deepEqual(await queueJobRun(pool(), task, logger), [id]);
    await withJobRun(pool(), task, logger, async () => assert.equal((await rows('third'))[0].status, 'running'));
    await pool().query("select tasks.start_task('third', $1, job_key => 'third l9')", [tenantId]);
    await withJobRun(pool(), task, logger, async () => {});
    assert.deepEqual(
      (await rows('third')).map(({ status, error }) => [status, error]),
      [
        ['completed', null],
        ['failed', 'interrupted'],
        ['completed', null],
      ],
    );
  });

  it('hold numbers, ids and names, never a text', async () => {
    for (const payload of [
      { text: 'two words' },
      { a: [{ b: 'x y' }] },
      { 'two words': 1 },
      { a: 'x'.repeat(101) },
      { a: Array(3000).fill(1) },
    ]) {
      await assert.rejects(
        pool().query("select tasks.start_task('fourth', $1, $2)", [tenantId, JSON.stringify(payload)]),
        { code: 'L9VAL', column: 'payload' },
      );
      await assert.rejects(
        house.asSuperuser(
          "insert into public.tasks (type, status, payload, tenant_id, started_at) values ('fourth', 'running', $2, $1, now())",
          [tenantId, JSON.stringify(payload)],
        ),
        { code: '23514' },
      );
      await assert.rejects(pool().query('select tasks.finish_task(array[uuidv7()], $1)', [JSON.stringify(payload)]), {
        code: 'L9VAL',
      });
    }
    // The work is done all the same.
    assert.equal(
      await withJobRun(pool(), { type: 'fourth', tenantId, payload: { text: 'two words' } }, logger, async () => 1),
      1,
    );
    assert.deepEqual(await rows('fourth'), []);
  });

  it('are seen by admins of the tenant, by those who read the scope, and by whoever asked', async () => {
    await house.asSuperuser('delete from public.tasks');
    const second = await addTenant(house, 'the-other');
    const other = second['jwt.claims.tenant_id']!;
    const user = '01900000-0000-7000-8000-0000000000aa';
    const start = (type: string, more: object = {}) =>
      withJobRun(pool(), { type, tenantId, ...more }, logger, async () => {});
    await start('a_shared', { scope: 'developer', projectId: 'l9' });
    await start('b_private', { scope: 'l-private', projectId: 'l9' });
    await start('c_all');
    await start('d_own', { caller: 'C' });
    await start('e_private_of_c', { scope: 'l-private', projectId: 'l9', caller: 'C' });
    await start('f_user', { scope: 'developer', projectId: 'l9', userId: user });
    await start('g_other', { tenantId: other, scope: 'developer' });
    await start('h_everyone', { tenantId: undefined });
    assert.deepEqual(await types('C'), ['a_shared']);
    assert.deepEqual(await types('C', { 'jwt.claims.user_id': user }), ['a_shared', 'f_user']);
    assert.deepEqual(await types('C', { 'jwt.claims.projects': '["x"]' }), []);
    assert.deepEqual(await types('L'), [
      'a_shared',
      'b_private',
      'c_all',
      'd_own',
      'e_private_of_c',
      'f_user',
      'h_everyone',
    ]);
    assert.deepEqual(await types('L', { 'jwt.claims.scopes': '["developer"]' }), [
      'a_shared',
      'c_all',
      'd_own',
      'f_user',
      'h_everyone',
    ]);
    assert.deepEqual(await types('L', second), ['g_other', 'h_everyone']);
    const operator = await addOperator(house, 'Warden');
    assert.equal((await types('Warden', operator)).length, 9);
    for (const statement of [
      "insert into public.tasks (type, status) values ('x', 'queued')",
      "update public.tasks set status = 'failed'",
      'delete from public.tasks',
      "select tasks.start_task('x')",
      "select tasks.finish_task('{}')",
      'select tasks.sweep_tasks()',
    ])
      for (const caller of ['C', 'L']) await assert.rejects(house.sql(caller, statement), { code: '42501' }, statement);
  });

  it('are swept by the cleanup 30 days after their end; those of which nothing is heard have failed', async () => {
    await house.asSuperuser('delete from public.tasks');
    for (const type of ['old', 'young']) await withJobRun(pool(), { type, tenantId }, logger, async () => {});
    await pool().query("select tasks.start_task('lost', $1)", [tenantId]);
    await house.asSuperuser(`update public.tasks set
      completed_at = case when type = 'old' then now() - interval '31 days' when type = 'young' then now() - interval '29 days' end,
      updated_at = now() - interval '8 days'`);
    await deleteExpired(1000).run(pool(), logger, new AbortController().signal);
    assert.deepEqual(
      (await house.asSuperuser('select type, status, error from public.tasks order by type')).map(
        ({ type, status, error }) => [type, status, error],
      ),
      [
        ['lost', 'failed', 'interrupted'],
        ['young', 'completed', null],
      ],
    );
  });
});
