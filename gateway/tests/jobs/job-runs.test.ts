// What jobs record of their runs in public.tasks; the rules of that table are tested in db/tests/tasks.
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { expireMemories } from '../../../db/tests/support/memories.ts';
import { DEFAULT_TENANT } from '../../../db/tests/support/sessions.ts';
import { deleteExpired } from '../../src/jobs/delete-expired.ts';
import { queueJobRun, withJobRun } from '../../src/jobs/job-runs.ts';
import { refreshViews } from '../../src/jobs/upkeep.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const tenantId = DEFAULT_TENANT;
const logger = pino({ level: 'silent' });

describe('the record of a job run', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const pool = () => gateway.instance.database.workerPool;
  const rows = (type: string) => gateway.asSuperuser('select * from public.tasks where type = $1 order by id', [type]);
  const outcomes = async (type: string) => (await rows(type)).map(({ status, error }) => [status, error]);

  it('is running during the work and completed with its result afterwards', async () => {
    const task = { type: 'first', tenantId, payload: { model: 'words' }, scope: 'developer' };
    const outcome = await withJobRun(
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
    expect(outcome).toBe(7);
    const [row] = await rows('first');
    expect([row.status, row.result, row.error]).toStrictEqual(['completed', { n: 7 }, null]);
    expect(row.completed_at >= row.started_at).toBe(true);
  });

  it('is failed with the name of the error and nothing of its text', async () => {
    const failing = (error: Error) =>
      withJobRun(pool(), { type: 'second', tenantId }, logger, () => Promise.reject(error));
    await expect(
      failing(Object.assign(new Error('the secret is hunter2'), { name: 'Provider Down: hunter2' })),
    ).rejects.toThrow(/hunter2/);
    await expect(failing(Object.assign(new Error('Key (x)=(hunter2)'), { code: '23505' }))).rejects.toThrow();
    expect(await outcomes('second')).toStrictEqual([
      ['failed', 'Provider'],
      ['failed', '23505'],
    ]);
  });

  it('is queued once under its key, then taken up by the run', async () => {
    const task = { type: 'third', tenantId, jobKey: 'third l9' };
    const [id] = await queueJobRun(pool(), task, logger);
    expect(await queueJobRun(pool(), task, logger)).toStrictEqual([id]);
    await withJobRun(pool(), task, logger, async () => expect((await rows('third'))[0].status).toBe('running'));
    await pool().query("select tasks.start_task('third', $1, job_key => 'third l9')", [tenantId]);
    await withJobRun(pool(), task, logger, async () => {});
    expect(await outcomes('third')).toStrictEqual([
      ['completed', null],
      ['failed', 'interrupted'],
      ['completed', null],
    ]);
  });

  it('is left out where the database refuses it, and the work is done all the same', async () => {
    const task = { type: 'fourth', tenantId, payload: { text: 'two words' } };
    expect(await withJobRun(pool(), task, logger, async () => 1)).toBe(1);
    expect(await rows('fourth')).toStrictEqual([]);
  });

  it('is kept of each run that embedded or deleted something or refreshed the views, and of no other', async () => {
    await gateway.asSuperuser('delete from public.tasks');
    await gateway.save('C', 'to be embedded');
    await gateway.embedded();
    await eventually(async () => (await rows('embed_pending')).length > 0);
    const [embedded] = await rows('embed_pending');
    expect([embedded.status, embedded.tenant_id, embedded.result]).toMatchObject([
      'completed',
      tenantId,
      { memories: 1, vectors: 1 },
    ]);
    expect(embedded.completed_at >= embedded.started_at).toBe(true);

    const cleanUp = () => deleteExpired(1000).run(pool(), logger, new AbortController().signal);
    await cleanUp();
    expect(await rows('delete_expired'), 'there was nothing to delete').toStrictEqual([]);
    const id = await gateway.save('C', 'to be deleted', { ttl: '2099-01-01T00:00:00Z' });
    // The cleanup leaves out a memory that the embedding job has locked at that moment.
    await gateway.embedded();
    await expireMemories(gateway, [id]);
    await cleanUp();
    expect((await rows('delete_expired')).map(({ status, result }) => [status, result])).toStrictEqual([
      ['completed', { memories: 1 }],
    ]);

    await gateway.asSuperuser("delete from public.tasks where type = 'refresh_memory_views'");
    await refreshViews.run(pool(), logger, new AbortController().signal);
    expect(await outcomes('refresh_memory_views')).toStrictEqual([['completed', null]]);
  });

  it('is deleted by the cleanup 30 days after its end', async () => {
    for (const type of ['old', 'young']) await withJobRun(pool(), { type, tenantId }, logger, async () => {});
    await pool().query("select tasks.start_task('lost', $1)", [tenantId]);
    await gateway.asSuperuser(`update public.tasks set
      completed_at = case when type = 'old' then now() - interval '31 days' when type = 'young' then now() - interval '29 days' end,
      updated_at = now() - interval '8 days' where type in ('old', 'young', 'lost')`);
    await deleteExpired(1000).run(pool(), logger, new AbortController().signal);
    expect([await outcomes('old'), await outcomes('young'), await outcomes('lost')]).toStrictEqual([
      [],
      [['completed', null]],
      [['failed', 'interrupted']],
    ]);
  });
});
