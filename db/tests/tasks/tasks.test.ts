// Tasks: what jobs write down of their work, without a word of what it is about, for those whom it concerns.
import { pino } from 'pino';
import { deleteExpired } from '../../../gateway/src/jobs/delete-expired.ts';
import { queueJobRun, withJobRun } from '../../../gateway/src/jobs/job-runs.ts';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { embedder } from '../events/words.ts';
import { addOperator, addTenant } from '../support/tenants.ts';

const tenantId = '00000000-0000-7000-8000-000000000001';
const logger = pino({ level: 'silent' });

describe('tasks', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
  });
  afterAll(() => gateway.close());

  const pool = () => gateway.instance.database.workerPool;
  const rows = (type: string) => gateway.asSuperuser('select * from public.tasks where type = $1 order by id', [type]);
  const types = async (caller: string, claims: Record<string, string> = {}) =>
    (await gateway.sql(caller, 'select type from public.tasks order by type', [], claims)).map(({ type }) => type);

  it('are running, then completed with what came of them', async () => {
    const task = { type: 'first', tenantId, payload: { model: 'words' }, scope: 'developer' };
    const answer = await withJobRun(
      pool(),
      task,
      logger,
      async () => {
        const [row] = await rows('first');
        expect([row.status, row.payload, row.completed_at]).toStrictEqual(['running', { model: 'words' }, null]);
        return 7;
      },
      (n) => ({ n }),
    );
    expect(answer).toBe(7);
    const [row] = await rows('first');
    expect([row.status, row.result, row.error]).toStrictEqual(['completed', { n: 7 }, null]);
    expect(Number(row.completed_at)).toBeGreaterThanOrEqual(Number(row.started_at));
  });

  it('fail with the name of the error and nothing of its text', async () => {
    const failing = (error: Error) =>
      withJobRun(pool(), { type: 'second', tenantId }, logger, () => Promise.reject(error));
    await expect(
      failing(Object.assign(new Error('the secret is hunter2'), { name: 'Provider Down: hunter2' })),
    ).rejects.toThrow(/hunter2/);
    await expect(failing(Object.assign(new Error('Key (x)=(hunter2)'), { code: '23505' }))).rejects.toThrow();
    expect((await rows('second')).map(({ status, error }) => [status, error])).toStrictEqual([
      ['failed', 'Provider'],
      ['failed', '23505'],
    ]);
  });

  it('wait in the queue under their key, once, and one left behind by a process that died has failed', async () => {
    const task = { type: 'third', tenantId, jobKey: 'third l9' };
    const [id] = await queueJobRun(pool(), task, logger);
    expect(await queueJobRun(pool(), task, logger)).toStrictEqual([id]);
    await withJobRun(pool(), task, logger, async () => expect((await rows('third'))[0].status).toBe('running'));
    await pool().query("select tasks.start_task('third', $1, job_key => 'third l9')", [tenantId]);
    await withJobRun(pool(), task, logger, async () => {});
    expect((await rows('third')).map(({ status, error }) => [status, error])).toStrictEqual([
      ['completed', null],
      ['failed', 'interrupted'],
      ['completed', null],
    ]);
  });

  it('hold numbers, ids and names, never a text', async () => {
    for (const payload of [
      { text: 'two words' },
      { a: [{ b: 'x y' }] },
      { 'two words': 1 },
      { a: 'x'.repeat(101) },
      { a: Array(3000).fill(1) },
    ]) {
      await expect(
        pool().query("select tasks.start_task('fourth', $1, $2)", [tenantId, JSON.stringify(payload)]),
      ).rejects.toMatchObject({ code: 'L9VAL', column: 'payload' });
      await expect(
        gateway.asSuperuser(
          "insert into public.tasks (type, status, payload, tenant_id, started_at) values ('fourth', 'running', $2, $1, now())",
          [tenantId, JSON.stringify(payload)],
        ),
      ).rejects.toMatchObject({ code: '23514' });
      await expect(
        pool().query('select tasks.finish_task(array[uuidv7()], $1)', [JSON.stringify(payload)]),
      ).rejects.toMatchObject({ code: 'L9VAL' });
    }
    // The work is done all the same.
    expect(
      await withJobRun(pool(), { type: 'fourth', tenantId, payload: { text: 'two words' } }, logger, async () => 1),
    ).toBe(1);
    expect(await rows('fourth')).toStrictEqual([]);
  });

  it('are seen by admins of the tenant, by those who read the scope, and by whoever asked', async () => {
    await gateway.asSuperuser('delete from public.tasks');
    const second = await addTenant(gateway, 'the-other');
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
    expect(await types('C')).toStrictEqual(['a_shared']);
    expect(await types('C', { 'jwt.claims.user_id': user })).toStrictEqual(['a_shared', 'f_user']);
    expect(await types('C', { 'jwt.claims.projects': '["x"]' })).toStrictEqual([]);
    expect(await types('L')).toStrictEqual([
      'a_shared',
      'b_private',
      'c_all',
      'd_own',
      'e_private_of_c',
      'f_user',
      'h_everyone',
    ]);
    expect(await types('L', { 'jwt.claims.scopes': '["developer"]' })).toStrictEqual([
      'a_shared',
      'c_all',
      'd_own',
      'f_user',
      'h_everyone',
    ]);
    expect(await types('L', second)).toStrictEqual(['g_other', 'h_everyone']);
    const operator = await addOperator(gateway, 'Warden');
    expect(await types('Warden', operator)).toHaveLength(9);
    for (const statement of [
      "insert into public.tasks (type, status) values ('x', 'queued')",
      "update public.tasks set status = 'failed'",
      'delete from public.tasks',
      "select tasks.start_task('x')",
      "select tasks.finish_task('{}')",
      'select tasks.sweep_tasks()',
    ])
      for (const caller of ['C', 'L'])
        await expect(gateway.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
  });

  it('are swept by the cleanup 30 days after their end; those of which nothing is heard have failed', async () => {
    await gateway.asSuperuser('delete from public.tasks');
    for (const type of ['old', 'young']) await withJobRun(pool(), { type, tenantId }, logger, async () => {});
    await pool().query("select tasks.start_task('lost', $1)", [tenantId]);
    await gateway.asSuperuser(`update public.tasks set
      completed_at = case when type = 'old' then now() - interval '31 days' when type = 'young' then now() - interval '29 days' end,
      updated_at = now() - interval '8 days'`);
    await deleteExpired(1000).run(pool(), logger, new AbortController().signal);
    expect(
      (await gateway.asSuperuser('select type, status, error from public.tasks order by type')).map(
        ({ type, status, error }) => [type, status, error],
      ),
    ).toStrictEqual([
      ['lost', 'failed', 'interrupted'],
      ['young', 'completed', null],
    ]);
  });
});
