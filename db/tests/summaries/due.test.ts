// Summaries are due in time, and the job that writes them gives them to nobody else.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { summariesOf, user } from './support.ts';

describe('summaries', () => {
  const house = houseOfSuite({ embedder: standIn });
  const { sum, seen, note, due } = summariesOf(house);

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
    assert.deepEqual(await ask(), []);
    assert.deepEqual(await ask({ min_packets: 9 }), [['talk', 'none', 9]]);
    await note('L', 'said', thread);
    await note('L', 'said in private', { ...thread, scope: 'l-private' });
    const [item] = await due('C', { project_id, scope_types: ['thread'] });
    assert.deepEqual(
      [item.reason, item.new_packets, item.source_packet_ids.length, item.scope],
      ['none', 10, 10, 'developer'],
    );
    const first = await sum('C', item.source_packet_ids, { scope_type: 'thread', scope_value: 'talk' });
    assert.deepEqual(await ask(), []);
    for (let i = 0; i < 3; i++) await note('C', 'said later', thread);
    assert.deepEqual(await ask({ min_packets: 3 }), [['talk', 'packets', 3]]);
    await house.sql('C', "select public.update_memory($1, content => 'said otherwise')", [
      item.source_packet_ids.at(-1),
    ]);
    assert.deepEqual(await ask(), [['talk', 'changed', 3]]);
    assert.equal((await seen('C', first.summary_id)).stale, true);
    const soon = await sum('C', item.source_packet_ids, {
      scope_type: 'thread',
      scope_value: 'talk',
      valid_until: new Date(Date.now() + 3_600_000),
    });
    assert.deepEqual(await ask(), []);
    await house.asSuperuser(
      `update public.memory_summaries set valid_until = now() where summary_id = '${soon.summary_id}'`,
    );
    assert.deepEqual(await ask(), [['talk', 'valid_until', 3]]);
    // What L wrote is for L to write anew.
    await sum('L', item.source_packet_ids, { scope_type: 'thread', scope_value: 'talk' });
    assert.deepEqual(await ask({ min_packets: 1 }), []);
    assert.equal((await due('L', { project_id, scope_types: ['thread'], min_packets: 3 })).length, 1);
    // L's private room has its own, of which C hears nothing.
    const rooms = (await due('L', { project_id, scope_value: 'talk', min_packets: 1 })).map(({ scope }) => scope);
    assert.deepEqual(rooms.sort(), ['developer', 'l-private']);
    for (const args of [{}, { min_packets: 1 }, { min_packets: 1, scope_value: 'talk' }]) {
      assert.ok((await due('C', args)).every(({ scope }) => scope !== 'l-private'));
    }
  });

  it('are due by agent, topic, week, project and task, too', async () => {
    const project_id = 'all sorts'.replace(' ', '-');
    for (let i = 0; i < 5; i++) await note('C', 'work', { project_id, tags: ['owls'], correlation_id: 'JOB-1' });
    const found = await due('C', { project_id, min_packets: 5 });
    const [{ week }] = await house.sql('C', `select to_char(now() at time zone 'UTC', 'IYYY-"W"IW') as week`);
    assert.deepEqual(Object.fromEntries(found.map(({ scope_type, scope_value }) => [scope_type, scope_value])), {
      agent: 'Cursor-IDE',
      topic: 'owls',
      time_period: week,
      project: project_id,
      task: 'JOB-1',
    });
    assert.equal((await due('C', { project_id })).length, 1, 'by default five are enough for a task');
    for (const [args, field] of [
      [{ scope_types: ['rumour'] }, 'scope_types'],
      [{ min_packets: 0 }, 'min_packets'],
      [{ k: 0 }, 'k'],
      [{ max_sources: 501 }, 'max_sources'],
    ] as const) {
      await assert.rejects(due('C', args), { code: 'L9VAL', column: field });
    }
  });

  it('are written by the job in the room of their sources, in place of what is there', async () => {
    const { workerPool } = house.gateway.database;
    const project_id = 'job';
    for (let i = 0; i < 5; i++) {
      await house.sql(
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
    assert.deepEqual(rows.map(({ scope, user_id }) => [scope, user_id]).sort(), [
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
      assert.deepEqual(
        [saved.scope, saved.user_id, saved.creator, saved.packet_count],
        [row.scope, row.user_id, 'job', 5],
      );
    }
    const left = await workerPool.query(
      "select * from summaries.due_summaries_for_job(100) where project_id = 'job' and scope_type = 'task'",
    );
    assert.deepEqual(left.rows, []);
    assert.deepEqual(await house.sql('C', "select scope from public.memory_summaries where project_id = 'job'"), []);
    const ofUser = await house.sql(
      'C',
      "select s.scope, p.metadata from public.memory_summaries s join public.packet_store p on p.packet_id = s.source_packet where s.project_id = 'job'",
      [],
      user,
    );
    assert.deepEqual(ofUser, [
      { scope: 'developer', metadata: { creator: 'job', source: 'l9-memory', agent: 'job', model: 'm' } },
    ]);
    await assert.rejects(
      workerPool.query('select summaries.store_summary($1, $2, $3, $4)', [
        'task',
        'J',
        'mixed',
        rows.flatMap(({ source_packet_ids }) => source_packet_ids),
      ]),
      { code: 'L9VAL' },
    );
  });
});
