// What came of tasks: once for each task of a room, with its lessons, and no leak by what it refers to.

import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';
import { grepDatabase } from '../support/dump.ts';
import { errorOf } from '../support/errors.ts';
import { named } from '../support/named.ts';
import { itOnServer } from '../support/on-engine.ts';

describe('reflect_on_task', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const onTask = async (caller: string, args: Record<string, unknown>) => {
    const given: Record<string, unknown> = { project_id: 'l9', ...args };
    const [row] = await gateway.sql(
      caller,
      `select * from public.reflect_on_task(${named(given)})`,
      Object.values(given),
    );
    return row;
  };
  const lessonsOf = (caller: string, id: string) =>
    gateway.sql(
      caller,
      `select l.* from public.task_reflections t, public.task_reflections_lessons(t) l where t.task_reflection_id = $1`,
      [id],
    );
  const textOf = async (id: string) =>
    (await gateway.sql('L', 'select content from public.packet_store where packet_id = $1', [id]))[0].content as string;

  it('keeps what came of a task, as a memory that is found', async () => {
    const decision = await save(gateway, 'C', 'We use pgvector for the capercaillie index.', { kind: 'decision' });
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
    expect([
      task.task_id,
      task.outcome,
      task.what_worked,
      task.related_decisions,
      Number(task.execution_time_ms),
      task.creator,
    ]).toStrictEqual(['T-1', 'partial', ['copying in batches'], [decision], 1200, 'Cursor-IDE']);
    const text = await textOf(task.source_packet);
    for (const part of [
      'Task T-1: Move',
      'Outcome: partial',
      '- copying in batches',
      '- start earlier',
      '- disk 2 to 3 GB',
    ]) {
      expect(text, part).toContain(part);
    }
    expect(await lessonsOf('L', task.task_reflection_id)).toHaveLength(2);
    const { result } = await gateway.tool('L', 'search_memory', {
      query: 'capercaillie index copying',
      kinds: ['task_reflection'],
    });
    expect(result.hits[0].packet_id).toBe(task.source_packet);
    const [{ learned, decisions }] = await gateway.sql(
      'L',
      `select public.task_reflections_lessons_learned(t) as learned,
         array(select d.content from public.task_reflections_decisions(t) d) as decisions
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    expect(learned.sort()).toStrictEqual(['Copy indexes in batches of ten thousand.', 'Estimate twice.']);
    expect(decisions.length).toBe(1);
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
    expect(again.task_reflection_id).toBe(first.task_reflection_id);
    expect([again.description, again.outcome, again.what_worked]).toStrictEqual(['Ship it', 'success', ['a']]);
    const lessons = await lessonsOf('C', first.task_reflection_id);
    expect(lessons.map(({ times_seen }) => times_seen).sort()).toStrictEqual([1, 1]);
    // Another task that taught the same makes it surer.
    const other = await onTask('L', {
      task_id: 'T-3',
      description: 'Ship it too',
      lessons: ['Ship on Tuesdays only.'],
    });
    const [shared] = await lessonsOf('C', other.task_reflection_id);
    expect(shared.times_seen).toBe(2);
    const tasks = await gateway.sql(
      'C',
      'select t.task_id from public.reflection_store r, public.reflection_store_tasks(r) t where r.reflection_id = $1',
      [shared.reflection_id],
    );
    expect(tasks.map(({ task_id }) => task_id).sort()).toStrictEqual(['T-2', 'T-3']);
    const versions = await gateway.sql(
      'C',
      'select count(*)::int as n from public.packet_versions where packet_id = $1',
      [first.source_packet],
    );
    expect(versions[0].n).toBe(1);
  });

  it("is another's to change for admins only", async () => {
    const ofL = await onTask('L', { task_id: 'T-4', description: 'of L' });
    await expect(onTask('C', { task_id: 'T-4', description: 'of C now' })).rejects.toMatchObject({ code: 'L9OWN' });
    const store = (caller: string) =>
      gateway.sql(
        caller,
        `select reflection.store_task_reflection($1, 'T-4', 'overwritten', 'failure', '{}', '{}', '{}', '{}', null, '{}', '{}')`,
        [ofL.source_packet],
      );
    await expect(store('C')).rejects.toMatchObject({ code: 'L9OWN' });
    const [lesson] = await gateway.sql(
      'C',
      "select (r.reflection).reflection_id as id from public.reflect('of C alone', project_id => 'l9') r",
    );
    await expect(
      gateway.sql('C', 'select reflection.link_lesson($1, $2)', [ofL.task_reflection_id, lesson.id]),
    ).rejects.toMatchObject({ code: 'L9OWN' });
    const ofC = await onTask('C', { task_id: 'T-5', description: 'of C' });
    expect((await onTask('L', { task_id: 'T-5', outcome: 'failure' })).task_reflection_id).toBe(ofC.task_reflection_id);
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
    expect(shared.task_reflection_id).not.toBe(secret.task_reflection_id);
    const seen = await gateway.sql('C', "select description from public.task_reflections where task_id = 'T-6'");
    expect(seen).toStrictEqual([{ description: 'in the open' }]);
    expect(
      await gateway.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        secret.task_reflection_id,
      ]),
    ).toStrictEqual([]);
    // A lesson that moves into privacy leaves the task, and its link, without a trace for C.
    const [lesson] = await lessonsOf('C', shared.task_reflection_id);
    await gateway.sql('L', "delete from public.packet_store where scope = 'l-private' and packet_type = 'reflection'");
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [lesson.source_packet]);
    expect(await lessonsOf('C', shared.task_reflection_id)).toStrictEqual([]);
    expect(
      await gateway.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        shared.task_reflection_id,
      ]),
    ).toStrictEqual([]);
    expect(await lessonsOf('L', shared.task_reflection_id)).toHaveLength(1);
  });

  it('refers to memories that whoever reads it may read, and tells hidden from missing by nothing', async () => {
    const secret = await save(gateway, 'L', 'a private decision', { scope: 'l-private' });
    const nowhere = '01900000-0000-7000-8000-000000000001';
    const errors = [];
    for (const id of [secret, nowhere]) {
      const error = await errorOf(onTask('C', { task_id: 'T-7', description: 'x', related_decisions: [id] }));
      errors.push([error.code, error.message, error.column]);
    }
    expect(errors[0]).toStrictEqual(errors[1]);
    expect(errors[0]![0]).toBe('L9OWN');
    await expect(onTask('L', { task_id: 'T-7', description: 'x', related_decisions: [secret] })).rejects.toMatchObject({
      code: 'L9VAL',
    });
    const hidden = await onTask('L', {
      task_id: 'T-7',
      description: 'x',
      related_decisions: [secret],
      scope: 'l-private',
    });
    expect(hidden.related_decisions).toStrictEqual([secret]);
    // One that became private since is dropped with the next word, and freezes nothing.
    const open = await save(gateway, 'L', 'a decision, open at first');
    const task = await onTask('L', { task_id: 'T-8', description: 'x', related_decisions: [open] });
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [open]);
    const [{ n }] = await gateway.sql(
      'C',
      `select (select count(*) from public.task_reflections_decisions(t))::int as n
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    expect(n).toBe(0);
    expect((await onTask('L', { task_id: 'T-8', outcome: 'success' })).related_decisions).toStrictEqual([]);
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
    const find = (text: string) => gateway.inSuperuserSession((client) => grepDatabase(client, [text]));
    expect((await find(`lesson${word}`))['public.packet_store']).toBeTruthy();
    await gateway.embedded();
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [lesson.source_packet]);
    expect(await find(`lesson${word}`)).toStrictEqual({});
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [task.source_packet]);
    expect(await find(word)).toStrictEqual({});
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
      await expect(onTask('C', args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
    await expect(onTask('C', { task_id: 'T-9', description: 'x', scope: 'l-private' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    await expect(gateway.sql('C', 'update public.task_reflections set outcome = outcome')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(gateway.sql('L', 'delete from public.task_reflection_lessons')).rejects.toMatchObject({
      code: '42501',
    });
  });

  itOnServer('of one task by many at once is one', async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        onTask('C', { task_id: 'T-many', description: `told ${i}`, lessons: ['Told by many at once.'] }),
      ),
    );
    const tasks = await gateway.sql('C', "select * from public.task_reflections where task_id = 'T-many'");
    expect(tasks).toHaveLength(1);
    expect(await lessonsOf('C', tasks[0].task_reflection_id)).toHaveLength(1);
  });
});
