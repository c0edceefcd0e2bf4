// Summaries are due in time, and the job that writes them gives them to nobody else.
import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { summariesOf, user } from './support.ts';

describe('summaries', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const { sum, seen, note, due } = summariesOf(gateway);

  it('are due: none yet, enough added, a source changed, their time over', async () => {
    const project_id = 'due';
    const ask = async (args: object = {}) =>
      (await due('C', { project_id, scope_types: ['thread'], ...args })).map(({ scope_value, reason, new_packets }) => [
        scope_value,
        reason,
        new_packets,
      ]);
    const thread = { project_id, thread_id: 'talk' };
    for (let i = 0; i < 9; i++) await note('C', 'said', thread);
    expect(await ask()).toStrictEqual([]);
    expect(await ask({ min_packets: 9 })).toStrictEqual([['talk', 'none', 9]]);
    await note('L', 'said', thread);
    await note('L', 'said in private', { ...thread, scope: 'l-private' });
    const [item] = await due('C', { project_id, scope_types: ['thread'] });
    expect([item.reason, item.new_packets, item.source_packet_ids.length, item.scope]).toStrictEqual([
      'none',
      10,
      10,
      'developer',
    ]);
    const first = await sum('C', item.source_packet_ids, { scope_type: 'thread', scope_value: 'talk' });
    expect(await ask()).toStrictEqual([]);
    for (let i = 0; i < 3; i++) await note('C', 'said later', thread);
    expect(await ask({ min_packets: 3 })).toStrictEqual([['talk', 'packets', 3]]);
    await gateway.sql('C', "select public.update_memory($1, content => 'said otherwise')", [
      item.source_packet_ids.at(-1),
    ]);
    expect(await ask()).toStrictEqual([['talk', 'changed', 3]]);
    expect((await seen('C', first.summary_id)).stale).toBe(true);
    const soon = await sum('C', item.source_packet_ids, {
      scope_type: 'thread',
      scope_value: 'talk',
      valid_until: new Date(Date.now() + 3_600_000),
    });
    expect(await ask()).toStrictEqual([]);
    await gateway.asSuperuser(
      `update public.memory_summaries set valid_until = now() where summary_id = '${soon.summary_id}'`,
    );
    expect(await ask()).toStrictEqual([['talk', 'valid_until', 3]]);
    // What L wrote is for L to write anew.
    await sum('L', item.source_packet_ids, { scope_type: 'thread', scope_value: 'talk' });
    expect(await ask({ min_packets: 1 })).toStrictEqual([]);
    expect(await due('L', { project_id, scope_types: ['thread'], min_packets: 3 })).toHaveLength(1);
    // L's private room has its own, of which C hears nothing.
    const rooms = (await due('L', { project_id, scope_value: 'talk', min_packets: 1 })).map(({ scope }) => scope);
    expect(rooms.sort()).toStrictEqual(['developer', 'l-private']);
    for (const args of [{}, { min_packets: 1 }, { min_packets: 1, scope_value: 'talk' }]) {
      expect((await due('C', args)).every(({ scope }) => scope !== 'l-private')).toBe(true);
    }
  });

  it('are due by agent, topic, week, project and task, too', async () => {
    const project_id = 'all sorts'.replace(' ', '-');
    for (let i = 0; i < 5; i++) await note('C', 'work', { project_id, tags: ['owls'], correlation_id: 'JOB-1' });
    const found = await due('C', { project_id, min_packets: 5 });
    const [{ week }] = await gateway.sql('C', `select to_char(now() at time zone 'UTC', 'IYYY-"W"IW') as week`);
    expect(Object.fromEntries(found.map(({ scope_type, scope_value }) => [scope_type, scope_value]))).toStrictEqual({
      agent: 'Cursor-IDE',
      topic: 'owls',
      time_period: week,
      project: project_id,
      task: 'JOB-1',
    });
    expect(await due('C', { project_id }), 'by default five are enough for a task').toHaveLength(1);
    for (const [args, field] of [
      [{ scope_types: ['rumour'] }, 'scope_types'],
      [{ min_packets: 0 }, 'min_packets'],
      [{ k: 0 }, 'k'],
      [{ max_sources: 501 }, 'max_sources'],
    ] as const) {
      await expect(due('C', args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
  });

  it('are written by the job in the room of their sources, in place of what is there', async () => {
    const { workerPool } = gateway.instance.database;
    const project_id = 'job';
    for (let i = 0; i < 5; i++) {
      await gateway.sql(
        'C',
        `select public.save_memory($1, project_id => 'job', correlation_id => 'J')`,
        [`of the user ${i}`],
        user,
      );
      await note('L', 'in private', { project_id, scope: 'l-private', correlation_id: 'J' });
    }
    const { rows } = await workerPool.query(
      "select * from summaries.due_summaries_for_job(100) where project_id = 'job' and scope_type = 'task'",
    );
    expect(rows.map(({ scope, user_id }) => [scope, user_id]).sort()).toStrictEqual([
      ['developer', user['jwt.claims.user_id']],
      ['l-private', null],
    ]);
    for (const row of rows) {
      const store = () =>
        workerPool.query("select (s).* from summaries.store_summary($1, $2, $3, $4, model => 'm') s", [
          row.scope_type,
          row.scope_value,
          'What the job says.',
          row.source_packet_ids,
        ]);
      await store();
      const saved = (await store()).rows[0];
      expect([saved.scope, saved.user_id, saved.creator, saved.packet_count]).toStrictEqual([
        row.scope,
        row.user_id,
        'job',
        5,
      ]);
    }
    const left = await workerPool.query(
      "select * from summaries.due_summaries_for_job(100) where project_id = 'job' and scope_type = 'task'",
    );
    expect(left.rows).toStrictEqual([]);
    expect(await gateway.sql('C', "select scope from public.memory_summaries where project_id = 'job'")).toStrictEqual(
      [],
    );
    const ofUser = await gateway.sql(
      'C',
      "select s.scope, p.metadata from public.memory_summaries s join public.packet_store p on p.packet_id = s.source_packet where s.project_id = 'job'",
      [],
      user,
    );
    expect(ofUser).toStrictEqual([
      { scope: 'developer', metadata: { creator: 'job', source: 'l9-memory', agent: 'job', model: 'm' } },
    ]);
    await expect(
      workerPool.query('select summaries.store_summary($1, $2, $3, $4)', [
        'task',
        'J',
        'mixed',
        rows.flatMap(({ source_packet_ids }) => source_packet_ids),
      ]),
    ).rejects.toMatchObject({ code: 'L9VAL' });
  });
});
