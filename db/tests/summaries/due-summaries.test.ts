// The summaries that are due.
import { useTestDatabase } from '../support/test-database.ts';
import { summariesOf } from './support.ts';

describe('due_summaries', () => {
  const db = useTestDatabase();
  const { sum, seen, note, due } = summariesOf(db);

  it('lists a summary that is missing, outdated, changed in its sources or past valid_until', async () => {
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
    await db.sql('C', "select public.update_memory($1, content => 'said otherwise')", [item.source_packet_ids.at(-1)]);
    expect(await ask()).toStrictEqual([['talk', 'changed', 3]]);
    expect((await seen('C', first.summary_id)).stale).toBe(true);
    const soon = await sum('C', item.source_packet_ids, {
      scope_type: 'thread',
      scope_value: 'talk',
      valid_until: new Date(Date.now() + 3_600_000),
    });
    expect(await ask()).toStrictEqual([]);
    await db.asSuperuser(
      `update public.memory_summaries set valid_until = now() where summary_id = '${soon.summary_id}'`,
    );
    expect(await ask()).toStrictEqual([['talk', 'valid_until', 3]]);
    // A summary of L is due for L only.
    await sum('L', item.source_packet_ids, { scope_type: 'thread', scope_value: 'talk' });
    expect(await ask({ min_packets: 1 })).toStrictEqual([]);
    expect(await due('L', { project_id, scope_types: ['thread'], min_packets: 3 })).toHaveLength(1);
    // The private audience of L has a summary of its own, which is hidden from C.
    const scopes = (await due('L', { project_id, scope_value: 'talk', min_packets: 1 })).map(({ scope }) => scope);
    expect(scopes.sort()).toStrictEqual(['developer', 'l-private']);
    for (const args of [{}, { min_packets: 1 }, { min_packets: 1, scope_value: 'talk' }]) {
      expect((await due('C', args)).every(({ scope }) => scope !== 'l-private')).toBe(true);
    }
  });

  it('finds subjects by agent, topic, week, project and task', async () => {
    const project_id = 'all sorts'.replace(' ', '-');
    for (let i = 0; i < 5; i++) await note('C', 'work', { project_id, tags: ['owls'], correlation_id: 'JOB-1' });
    const found = await due('C', { project_id, min_packets: 5 });
    const [{ week }] = await db.sql('C', `select to_char(now() at time zone 'UTC', 'IYYY-"W"IW') as week`);
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
});
