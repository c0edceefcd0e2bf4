// What came of tasks: once for each task of a room, with its lessons, and no leak by what it refers to.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { grepDatabase } from '../../../gateway/tests/support/dump.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { named } from '../../../gateway/tests/support/named.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';

describe('reflect_on_task', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const onTask = async (caller: string, args: Record<string, unknown>) => {
    const given: Record<string, unknown> = { project_id: 'l9', ...args };
    const [row] = await house.sql(
      caller,
      `select * from public.reflect_on_task(${named(given)})`,
      Object.values(given),
    );
    return row;
  };
  const lessonsOf = (caller: string, id: string) =>
    house.sql(
      caller,
      `select l.* from public.task_reflections t, public.task_reflections_lessons(t) l where t.task_reflection_id = $1`,
      [id],
    );
  const textOf = async (id: string) =>
    (await house.sql('L', 'select content from public.packet_store where packet_id = $1', [id]))[0].content as string;

  it('keeps what came of a task, as a memory that is found', async () => {
    const decision = await save(house, 'C', 'We use pgvector for the capercaillie index.', { kind: 'decision' });
    const task = await onTask('C', {
      task_id: 'T-1',
      description: 'Move the capercaillie index',
      outcome: 'partial',
      what_worked: ['copying in batches'],
      what_failed: ['the first estimate'],
      lessons: ['Copy indexes in batches of ten thousand.', 'Estimate twice.'],
      recommendations: ['start earlier'],
      related_decisions: [decision],
      execution_time_ms: 1200,
      metrics_improved: ['p95 120 to 80 ms'],
      metrics_degraded: ['disk 2 to 3 GB'],
    });
    assert.deepEqual(
      [
        task.task_id,
        task.outcome,
        task.what_worked,
        task.related_decisions,
        Number(task.execution_time_ms),
        task.creator,
      ],
      ['T-1', 'partial', ['copying in batches'], [decision], 1200, 'Cursor-IDE'],
    );
    const text = await textOf(task.source_packet);
    for (const part of [
      'Task T-1: Move',
      'Outcome: partial',
      '- copying in batches',
      '- start earlier',
      '- disk 2 to 3 GB',
    ]) {
      assert.ok(text.includes(part), part);
    }
    assert.equal((await lessonsOf('L', task.task_reflection_id)).length, 2);
    const { result } = await house.tool('L', 'search_memory', {
      query: 'capercaillie index copying',
      kinds: ['task_reflection'],
    });
    assert.equal(result.hits[0].packet_id, task.source_packet);
    const [{ learned, decisions }] = await house.sql(
      'L',
      `select public.task_reflections_lessons_learned(t) as learned,
         array(select d.content from public.task_reflections_decisions(t) d) as decisions
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    assert.deepEqual(learned.sort(), ['Copy indexes in batches of ten thousand.', 'Estimate twice.']);
    assert.equal(decisions.length, 1);
  });

  it('replaces what is given and leaves the rest; the same lesson told again for it is not learned again', async () => {
    const first = await onTask('C', {
      task_id: 'T-2',
      description: 'Ship it',
      what_worked: ['a'],
      lessons: ['Ship on Tuesdays only.'],
    });
    const again = await onTask('C', {
      task_id: 'T-2',
      outcome: 'success',
      lessons: ['ship on tuesdays only.', 'Ask for a second pair of eyes.'],
    });
    assert.equal(again.task_reflection_id, first.task_reflection_id);
    assert.deepEqual([again.description, again.outcome, again.what_worked], ['Ship it', 'success', ['a']]);
    const lessons = await lessonsOf('C', first.task_reflection_id);
    assert.deepEqual(lessons.map(({ times_seen }) => times_seen).sort(), [1, 1]);
    // Another task that taught the same makes it surer.
    const other = await onTask('L', {
      task_id: 'T-3',
      description: 'Ship it too',
      lessons: ['Ship on Tuesdays only.'],
    });
    const [shared] = await lessonsOf('C', other.task_reflection_id);
    assert.equal(shared.times_seen, 2);
    const tasks = await house.sql(
      'C',
      'select t.task_id from public.reflection_store r, public.reflection_store_tasks(r) t where r.reflection_id = $1',
      [shared.reflection_id],
    );
    assert.deepEqual(tasks.map(({ task_id }) => task_id).sort(), ['T-2', 'T-3']);
    const versions = await house.sql(
      'C',
      'select count(*)::int as n from public.packet_versions where packet_id = $1',
      [first.source_packet],
    );
    assert.equal(versions[0].n, 1);
  });

  it("is another's to change for admins only", async () => {
    const ofL = await onTask('L', { task_id: 'T-4', description: 'of L' });
    await assert.rejects(onTask('C', { task_id: 'T-4', description: 'of C now' }), { code: 'L9OWN' });
    const store = (caller: string) =>
      house.sql(
        caller,
        `select reflection.store_task_reflection($1, 'T-4', 'overwritten', 'failure', '{}', '{}', '{}', '{}', null, '{}', '{}')`,
        [ofL.source_packet],
      );
    await assert.rejects(store('C'), { code: 'L9OWN' });
    const [lesson] = await house.sql(
      'C',
      "select (r.reflection).reflection_id as id from public.reflect('of C alone', project_id => 'l9') r",
    );
    await assert.rejects(house.sql('C', 'select reflection.link_lesson($1, $2)', [ofL.task_reflection_id, lesson.id]), {
      code: 'L9OWN',
    });
    const ofC = await onTask('C', { task_id: 'T-5', description: 'of C' });
    assert.equal(
      (await onTask('L', { task_id: 'T-5', outcome: 'failure' })).task_reflection_id,
      ofC.task_reflection_id,
    );
  });

  it('is one for a task in each room, and C learns nothing of the private one', async () => {
    const secret = await onTask('L', {
      task_id: 'T-6',
      description: 'in private',
      scope: 'l-private',
      lessons: ['A private lesson of T-6.'],
    });
    const shared = await onTask('C', {
      task_id: 'T-6',
      description: 'in the open',
      lessons: ['A private lesson of T-6.'],
    });
    assert.notEqual(shared.task_reflection_id, secret.task_reflection_id);
    const seen = await house.sql('C', "select description from public.task_reflections where task_id = 'T-6'");
    assert.deepEqual(seen, [{ description: 'in the open' }]);
    assert.deepEqual(
      await house.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        secret.task_reflection_id,
      ]),
      [],
    );
    // A lesson that moves into privacy leaves the task, and its link, without a trace for C.
    const [lesson] = await lessonsOf('C', shared.task_reflection_id);
    await house.sql('L', "delete from public.packet_store where scope = 'l-private' and packet_type = 'reflection'");
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [lesson.source_packet]);
    assert.deepEqual(await lessonsOf('C', shared.task_reflection_id), []);
    assert.deepEqual(
      await house.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        shared.task_reflection_id,
      ]),
      [],
    );
    assert.equal((await lessonsOf('L', shared.task_reflection_id)).length, 1);
  });

  it('refers to memories that whoever reads it may read, and tells hidden from missing by nothing', async () => {
    const secret = await save(house, 'L', 'a private decision', { scope: 'l-private' });
    const nowhere = '01900000-0000-7000-8000-000000000001';
    const errors = [];
    for (const id of [secret, nowhere]) {
      const error = await onTask('C', { task_id: 'T-7', description: 'x', related_decisions: [id] }).then(
        () => assert.fail('not refused'),
        (error) => error,
      );
      errors.push([error.code, error.message, error.column]);
    }
    assert.deepEqual(errors[0], errors[1]);
    assert.equal(errors[0]![0], 'L9OWN');
    await assert.rejects(onTask('L', { task_id: 'T-7', description: 'x', related_decisions: [secret] }), {
      code: 'L9VAL',
    });
    const hidden = await onTask('L', {
      task_id: 'T-7',
      description: 'x',
      related_decisions: [secret],
      scope: 'l-private',
    });
    assert.deepEqual(hidden.related_decisions, [secret]);
    // One that became private since is dropped with the next word, and freezes nothing.
    const open = await save(house, 'L', 'a decision, open at first');
    const task = await onTask('L', { task_id: 'T-8', description: 'x', related_decisions: [open] });
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [open]);
    const [{ n }] = await house.sql(
      'C',
      `select (select count(*) from public.task_reflections_decisions(t))::int as n
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    assert.equal(n, 0);
    assert.deepEqual((await onTask('L', { task_id: 'T-8', outcome: 'success' })).related_decisions, []);
  });

  it('is erased with its memory, and its lessons with theirs, and nothing of either is left', async () => {
    const word = `zq${Math.random().toString(36).slice(2)}`;
    const task = await onTask('C', {
      task_id: `T-${word}`,
      description: `about ${word}`,
      what_worked: [word],
      recommendations: [word],
      lessons: [`Beware of the lesson${word}.`],
    });
    const [lesson] = await lessonsOf('C', task.task_reflection_id);
    const find = (text: string) => asSuperuser(house, (client) => grepDatabase(client, [text]));
    assert.ok((await find(`lesson${word}`))['public.packet_store']);
    await house.embedded();
    await house.sql('L', "select public.erase_memory($1, 'a test')", [lesson.source_packet]);
    assert.deepEqual(await find(`lesson${word}`), {});
    await house.sql('L', "select public.erase_memory($1, 'a test')", [task.source_packet]);
    assert.deepEqual(await find(word), {});
  });

  it('says what is wrong', async () => {
    for (const [args, field] of [
      [{ task_id: ' ', description: 'x' }, 'task_id'],
      [{ task_id: 'T-9' }, 'description'],
      [{ task_id: 'T-9', description: 'x', outcome: 'great' }, 'outcome'],
      [{ task_id: 'T-9', description: 'x', execution_time_ms: -1 }, 'execution_time_ms'],
      [{ task_id: 'T-9', description: 'x', what_worked: [' '] }, 'what_worked'],
      [{ task_id: 'T-9', description: 'x', lessons: [' '] }, 'lessons'],
    ] as const) {
      await assert.rejects(onTask('C', args), { code: 'L9VAL', column: field });
    }
    await assert.rejects(onTask('C', { task_id: 'T-9', description: 'x', scope: 'l-private' }), { code: 'L9SCP' });
    await assert.rejects(house.sql('C', 'update public.task_reflections set outcome = outcome'), { code: '42501' });
    await assert.rejects(house.sql('L', 'delete from public.task_reflection_lessons'), { code: '42501' });
  });

  it('of one task by many at once is one', { skip: engine === 'embedded' && 'one connection' }, async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        onTask('C', { task_id: 'T-many', description: `told ${i}`, lessons: ['Told by many at once.'] }),
      ),
    );
    const tasks = await house.sql('C', "select * from public.task_reflections where task_id = 'T-many'");
    assert.equal(tasks.length, 1);
    assert.equal((await lessonsOf('C', tasks[0].task_reflection_id)).length, 1);
  });
});
