import { named } from '../support/named.ts';
import { type Claims, DEFAULT_TENANT } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('tasks', () => {
  const db = useTestDatabase({ rollsBack: true });

  const start = async (type: string, args: Record<string, unknown> = {}): Promise<string[]> => {
    const given = { type, tenant_id: DEFAULT_TENANT, ...args };
    const [{ ids }] = await db.asWorker(`select tasks.start_task(${named(given)}) as ids`, Object.values(given));
    return ids;
  };
  const finish = (ids: string[], result: object | null = null, error: string | null = null) =>
    db.asWorker('select tasks.finish_task($1, $2, $3) as finished', [ids, result && JSON.stringify(result), error]);
  const outcomes = async (type: string) =>
    (await db.asSuperuser('select status, error from public.tasks where type = $1 order by id', [type])).map(
      ({ status, error }) => [status, error],
    );
  const types = async (caller: string, claims: Claims = {}) =>
    (await db.sql(caller, 'select type from public.tasks order by type', [], claims)).map(({ type }) => type);

  it('records that a run starts and how it ends', async () => {
    const ids = await start('reembed', { payload: '{"model": "words"}' });
    expect(await outcomes('reembed')).toStrictEqual([['running', null]]);
    expect(await finish(ids, { n: 7 })).toStrictEqual([{ finished: 1 }]);
    const [row] = await db.asSuperuser("select * from public.tasks where type = 'reembed'");
    expect([row.status, row.payload, row.result, row.error]).toStrictEqual([
      'completed',
      { model: 'words' },
      { n: 7 },
      null,
    ]);
    expect(row.completed_at >= row.started_at).toBe(true);
    expect(await finish(ids, null, 'TooLate')).toStrictEqual([{ finished: 0 }]);
  });

  it('keeps the name of an error and nothing of its text', async () => {
    for (const error of ['Provider Down: hunter2', '23505', ' hunter2', 'x'.repeat(200)])
      await finish(await start('failing'), null, error);
    expect(await outcomes('failing')).toStrictEqual([
      ['failed', 'Provider'],
      ['failed', '23505'],
      ['failed', 'Error'],
      ['failed', 'x'.repeat(100)],
    ]);
  });

  it('queues one run a key and marks the run of a dead process as failed', async () => {
    const queued = await start('keyed', { job_key: 'keyed l9', is_queued: true });
    expect(await start('keyed', { job_key: 'keyed l9', is_queued: true })).toStrictEqual(queued);
    expect(await outcomes('keyed')).toStrictEqual([['queued', null]]);
    expect(await start('keyed', { job_key: 'keyed l9' })).toStrictEqual(queued);
    expect(await outcomes('keyed')).toStrictEqual([['running', null]]);
    await finish(await start('keyed', { job_key: 'keyed l9' }));
    expect(await outcomes('keyed')).toStrictEqual([
      ['failed', 'interrupted'],
      ['completed', null],
    ]);
  });

  it('refuses a payload or a result that holds a text', async () => {
    for (const payload of [
      { text: 'two words' },
      { a: [{ b: 'x y' }] },
      { 'two words': 1 },
      { a: 'x'.repeat(101) },
      { a: Array(3000).fill(1) },
    ]) {
      await expect(start('texts', { payload: JSON.stringify(payload) })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'payload',
      });
      await expect(
        db.asSuperuser(
          "insert into public.tasks (type, status, payload, tenant_id, started_at) values ('texts', 'running', $2, $1, now())",
          [DEFAULT_TENANT, JSON.stringify(payload)],
        ),
      ).rejects.toMatchObject({ code: '23514' });
      await expect(finish([], payload)).rejects.toMatchObject({ code: 'L9VAL', column: 'result' });
    }
    expect(await outcomes('texts')).toStrictEqual([]);
  });

  it('shows a run to admins of its tenant and to readers of its scope', async () => {
    const second = await addTenant(db, 'the-other');
    const user = '01900000-0000-7000-8000-0000000000aa';
    await start('a_shared', { scope: 'developer', project_id: 'l9' });
    await start('b_private', { scope: 'l-private', project_id: 'l9' });
    await start('c_all');
    await start('d_own', { caller: 'C' });
    await start('e_private_of_c', { scope: 'l-private', project_id: 'l9', caller: 'C' });
    await start('f_user', { scope: 'developer', project_id: 'l9', user_id: user });
    await start('g_other', { tenant_id: second['jwt.claims.tenant_id'], scope: 'developer' });
    await start('h_everyone', { tenant_id: null });
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
    // What a run without a scope did may concern any scope and project.
    expect(await types('L', { 'jwt.claims.scopes': '["developer"]' })).toStrictEqual(['a_shared', 'f_user']);
    expect(await types('L', { 'jwt.claims.projects': '["l9"]' })).toStrictEqual([
      'a_shared',
      'b_private',
      'e_private_of_c',
      'f_user',
    ]);
    expect(await types('L', second)).toStrictEqual(['g_other', 'h_everyone']);
    expect(await types('Warden', await addOperator(db, 'Warden'))).toHaveLength(9);
  });

  it('lets no caller write, start, finish or sweep runs', async () => {
    for (const statement of [
      "insert into public.tasks (type, status) values ('x', 'queued')",
      "update public.tasks set status = 'failed'",
      'delete from public.tasks',
      "select tasks.start_task('x')",
      "select tasks.finish_task('{}')",
      'select tasks.sweep_tasks()',
    ])
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
  });

  it('sweeps runs 30 days after their end and gives up those silent for 7 days', async () => {
    for (const type of ['old', 'young']) await finish(await start(type));
    await start('lost');
    await db.asSuperuser(`update public.tasks set
      completed_at = case when type = 'old' then now() - interval '31 days' when type = 'young' then now() - interval '29 days' end,
      updated_at = now() - interval '8 days'`);
    expect(await db.asWorker('select tasks.sweep_tasks()::int as swept')).toStrictEqual([{ swept: 1 }]);
    expect(await outcomes('old')).toStrictEqual([]);
    expect(await outcomes('young')).toStrictEqual([['completed', null]]);
    expect(await outcomes('lost')).toStrictEqual([['failed', 'interrupted']]);
  });
});
