// Results of tasks: one row for each task of an audience, with its lessons, and no leak through the ids that it names.
import { grepDatabase } from '../support/dump.ts';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { errorOf } from '../support/errors.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { reflectionsOf } from './support.ts';

const model = wordModel(['lesson', 'task']);

describe('reflect_on_task', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { reflectOnTask, lessonsOf } = reflectionsOf(db);
  const textOf = async (id: string) =>
    (await db.sql('L', 'select content from public.packet_store where packet_id = $1', [id]))[0].content as string;

  it('saves the result of a task as a memory that a search finds', async () => {
    const decision = await saveMemory(db, 'C', {
      content: 'We use pgvector for the capercaillie index.',
      kind: 'finding',
    });
    const task = await reflectOnTask('C', {
      task_id: 'T-1',
      description: 'Move the capercaillie index',
      outcome: 'partial',
      what_worked: ['copying in batches'],
      what_failed: ['the first estimate'],
      lessons: ['Copy indexes in batches of ten thousand.', 'Estimate twice.'],
      recommendations: ['start earlier'],
      related_decisions: [decision],
      execution_time_ms: 1200,
      metrics_improved: { p95: '120 to 80 ms', tests: 212 },
      metrics_degraded: { 'disk in GB': 3 },
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
      '- disk in GB: 3',
      '- tests: 212',
    ]) {
      expect(text, part).toContain(part);
    }
    expect(await lessonsOf('L', task.task_reflection_id)).toHaveLength(2);
    const { hits } = await searchMemory(db, 'L', { query: 'capercaillie index copying', kinds: ['task_reflection'] });
    expect(hits[0]!.packet_id).toBe(task.source_packet);
    const [{ learned, decisions }] = await db.sql(
      'L',
      `select public.task_reflections_lessons_learned(t) as learned,
         array(select d.content from public.task_reflections_decisions(t) d) as decisions
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    expect(learned.sort()).toStrictEqual(['Copy indexes in batches of ten thousand.', 'Estimate twice.']);
    expect(decisions.length).toBe(1);
  });

  it('replaces given values, keeps the others and does not reinforce a linked lesson again', async () => {
    const first = await reflectOnTask('C', {
      task_id: 'T-2',
      description: 'Ship it',
      what_worked: ['a'],
      lessons: ['Ship on Tuesdays only.'],
    });
    const again = await reflectOnTask('C', {
      task_id: 'T-2',
      outcome: 'success',
      lessons: ['ship on tuesdays only.', 'Ask for a second pair of eyes.'],
    });
    expect(again.task_reflection_id).toBe(first.task_reflection_id);
    expect([again.description, again.outcome, again.what_worked]).toStrictEqual(['Ship it', 'success', ['a']]);
    const lessons = await lessonsOf('C', first.task_reflection_id);
    expect(lessons.map(({ times_seen }) => times_seen).sort()).toStrictEqual([1, 1]);
    // The same lesson from another task reinforces it.
    const other = await reflectOnTask('L', {
      task_id: 'T-3',
      description: 'Ship it too',
      lessons: ['Ship on Tuesdays only.'],
    });
    const [shared] = await lessonsOf('C', other.task_reflection_id);
    expect(shared.times_seen).toBe(2);
    const tasks = await db.sql(
      'C',
      'select t.task_id from public.reflection_store r, public.reflection_store_tasks(r) t where r.reflection_id = $1',
      [shared.reflection_id],
    );
    expect(tasks.map(({ task_id }) => task_id).sort()).toStrictEqual(['T-2', 'T-3']);
    const versions = await db.sql('C', 'select count(*)::int as n from public.packet_versions where packet_id = $1', [
      first.source_packet,
    ]);
    expect(versions[0].n).toBe(1);
  });

  it('saves false constraints and helpful patterns as reflections of these types', async () => {
    const task = await reflectOnTask('C', {
      task_id: 'T-6',
      description: 'Move the cache',
      lessons: ['Warm the cache before the switch.'],
      false_constraints: ['The cache has to live in one region.'],
      helpful_patterns: ['Read from both sides while moving.'],
      metrics_improved: { 'hit rate': 0.97 },
    });
    const lessons = await lessonsOf('C', task.task_reflection_id);
    expect(lessons.map(({ reflection_type }) => reflection_type).sort()).toStrictEqual([
      'false_constraint',
      'lesson',
      'pattern',
    ]);
    const [texts] = await db.sql(
      'C',
      `select public.task_reflections_lessons_learned(t) as lessons, public.task_reflections_false_constraints(t) as constraints,
         public.task_reflections_helpful_patterns(t) as patterns, t.metrics_improved as improved
       from public.task_reflections t where t.task_id = 'T-6'`,
    );
    expect(texts).toStrictEqual({
      lessons: ['Warm the cache before the switch.'],
      constraints: ['The cache has to live in one region.'],
      patterns: ['Read from both sides while moving.'],
      improved: { 'hit rate': 0.97 },
    });
  });

  it.each<[string, unknown]>([
    ['must be an object', ['faster']],
    ['each metric is', { p95: { before: 1 } }],
    ['each metric is', { ' ': 1 }],
    ['holds a number', { p95: '§' }],
  ])('names a metric that it does not take: %s', async (message, metrics) => {
    const args = {
      task_id: 'T-7',
      description: 'measured',
      metrics_degraded: JSON.stringify(metrics).replace('"§"', '12345678901234567890'),
    };
    await expect(reflectOnTask('C', args)).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'metrics_degraded',
      message: expect.stringContaining(message),
    });
  });

  it('links a reflection to its task, and makes the task where there is none yet', async () => {
    const { reflect } = reflectionsOf(db);
    const early = await reflect('C', { content: 'The queue drains at night.', task_id: 'T-8' });
    const task = await reflectOnTask('C', { task_id: 'T-8', description: 'Drain the queue', outcome: 'success' });
    const late = await reflect('C', { content: 'Alarms are off at night.', task_id: 'T-8', type: 'failure' });
    const lessons = await lessonsOf('C', task.task_reflection_id);
    expect(lessons.map(({ reflection_id }) => reflection_id).sort()).toStrictEqual(
      [early.reflection_id, late.reflection_id].sort(),
    );
    expect([task.description, task.outcome]).toStrictEqual(['Drain the queue', 'success']);
    await reflectOnTask('L', { task_id: 'T-9', description: 'of L' });
    await expect(reflect('C', { content: 'Not of mine.', task_id: 'T-9' })).rejects.toMatchObject({
      code: 'L9OWN',
      column: 'task_id',
    });
    await expect(reflect('C', { content: 'Of none.', task_id: ' ' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'task_id',
    });
    await expect(reflect('C', { content: 'Of a long one.', task_id: 'x'.repeat(201) })).rejects.toMatchObject({
      column: 'task_id',
    });
  });

  it('shows nothing of a private task that has the same id', async () => {
    const secret = await reflectOnTask('L', {
      task_id: 'T-10',
      description: 'hush',
      scope: 'l-private',
      false_constraints: ['hush hush'],
    });
    const { reflect } = reflectionsOf(db);
    await reflect('C', { content: 'The open side of it.', task_id: 'T-10' });
    const [open] = await db.sql('C', "select * from public.task_reflections where task_id = 'T-10'");
    expect([open.scope, open.description]).toStrictEqual(['developer', 'not described yet']);
    expect(await lessonsOf('C', secret.task_reflection_id)).toStrictEqual([]);
  });

  it('lets only the writer and admins change a task', async () => {
    const ofL = await reflectOnTask('L', { task_id: 'T-4', description: 'of L' });
    await expect(reflectOnTask('C', { task_id: 'T-4', description: 'of C now' })).rejects.toMatchObject({
      code: 'L9OWN',
    });
    const store = (caller: string) =>
      db.sql(
        caller,
        `select reflection.store_task_reflection($1, 'T-4', 'overwritten', 'failure', '{}', '{}', '{}', '{}', null, '{}', '{}')`,
        [ofL.source_packet],
      );
    await expect(store('C')).rejects.toMatchObject({ code: 'L9OWN' });
    const [lesson] = await db.sql(
      'C',
      "select (r.reflection).reflection_id as id from public.reflect('of C alone', project_id => 'l9') r",
    );
    await expect(
      db.sql('C', 'select reflection.link_lesson($1, $2)', [ofL.task_reflection_id, lesson.id]),
    ).rejects.toMatchObject({ code: 'L9OWN' });
    const ofC = await reflectOnTask('C', { task_id: 'T-5', description: 'of C' });
    expect((await reflectOnTask('L', { task_id: 'T-5', outcome: 'failure' })).task_reflection_id).toBe(
      ofC.task_reflection_id,
    );
  });

  it('keeps one row for a task of each audience and hides the private one from C', async () => {
    const secret = await reflectOnTask('L', {
      task_id: 'T-6',
      description: 'in private',
      scope: 'l-private',
      lessons: ['A private lesson of T-6.'],
    });
    const shared = await reflectOnTask('C', {
      task_id: 'T-6',
      description: 'in the open',
      lessons: ['A private lesson of T-6.'],
    });
    expect(shared.task_reflection_id).not.toBe(secret.task_reflection_id);
    const seen = await db.sql('C', "select description from public.task_reflections where task_id = 'T-6'");
    expect(seen).toStrictEqual([{ description: 'in the open' }]);
    expect(
      await db.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        secret.task_reflection_id,
      ]),
    ).toStrictEqual([]);
    // When a lesson becomes private, C sees neither the lesson nor its link to the task.
    const [lesson] = await lessonsOf('C', shared.task_reflection_id);
    await db.sql('L', "delete from public.packet_store where scope = 'l-private' and packet_type = 'reflection'");
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [lesson.source_packet]);
    expect(await lessonsOf('C', shared.task_reflection_id)).toStrictEqual([]);
    expect(
      await db.sql('C', 'select * from public.task_reflection_lessons where task_reflection_id = $1', [
        shared.task_reflection_id,
      ]),
    ).toStrictEqual([]);
    expect(await lessonsOf('L', shared.task_reflection_id)).toHaveLength(1);
  });

  it('refers only to memories that all readers may read, with one error for hidden and missing', async () => {
    const secret = await saveMemory(db, 'L', { content: 'a private decision', scope: 'l-private' });
    const nowhere = '01900000-0000-7000-8000-000000000001';
    const errors = [];
    for (const id of [secret, nowhere]) {
      const error = await errorOf(reflectOnTask('C', { task_id: 'T-7', description: 'x', related_decisions: [id] }));
      errors.push([error.code, error.message, error.column]);
    }
    expect(errors[0]).toStrictEqual(errors[1]);
    expect(errors[0]![0]).toBe('L9OWN');
    await expect(
      reflectOnTask('L', { task_id: 'T-7', description: 'x', related_decisions: [secret] }),
    ).rejects.toMatchObject({
      code: 'L9VAL',
    });
    const hidden = await reflectOnTask('L', {
      task_id: 'T-7',
      description: 'x',
      related_decisions: [secret],
      scope: 'l-private',
    });
    expect(hidden.related_decisions).toStrictEqual([secret]);
    // A decision that became private is dropped by the next call, which succeeds.
    const open = await saveMemory(db, 'L', { content: 'a decision, open at first' });
    const task = await reflectOnTask('L', { task_id: 'T-8', description: 'x', related_decisions: [open] });
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [open]);
    const [{ n }] = await db.sql(
      'C',
      `select (select count(*) from public.task_reflections_decisions(t))::int as n
       from public.task_reflections t where t.task_reflection_id = $1`,
      [task.task_reflection_id],
    );
    expect(n).toBe(0);
    expect((await reflectOnTask('L', { task_id: 'T-8', outcome: 'success' })).related_decisions).toStrictEqual([]);
  });

  it('leaves nothing behind when a task and its lessons are erased', async () => {
    await serveModel(db, model);
    const word = `zq${Math.random().toString(36).slice(2)}`;
    const task = await reflectOnTask('C', {
      task_id: `T-${word}`,
      description: `about ${word}`,
      what_worked: [word],
      recommendations: [word],
      lessons: [`Beware of the lesson${word}.`],
    });
    const [lesson] = await lessonsOf('C', task.task_reflection_id);
    const find = (text: string) => db.inSuperuserSession((client) => grepDatabase(client, [text]));
    expect((await find(`lesson${word}`))['public.packet_store']).toBeTruthy();
    await embedPending(db, model);
    await db.sql('L', "select public.erase_memory($1, 'a test')", [lesson.source_packet]);
    expect(await find(`lesson${word}`)).toStrictEqual({});
    await db.sql('L', "select public.erase_memory($1, 'a test')", [task.source_packet]);
    expect(await find(word)).toStrictEqual({});
  });

  it('names the field that is invalid and allows writes through functions only', async () => {
    for (const [args, field] of [
      [{ task_id: ' ', description: 'x' }, 'task_id'],
      [{ task_id: 'T-9' }, 'description'],
      [{ task_id: 'T-9', description: 'x', outcome: 'great' }, 'outcome'],
      [{ task_id: 'T-9', description: 'x', execution_time_ms: -1 }, 'execution_time_ms'],
      [{ task_id: 'T-9', description: 'x', what_worked: [' '] }, 'what_worked'],
      [{ task_id: 'T-9', description: 'x', lessons: [' '] }, 'lessons'],
    ] as const) {
      await expect(reflectOnTask('C', args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
    await expect(reflectOnTask('C', { task_id: 'T-9', description: 'x', scope: 'l-private' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    await expect(db.sql('C', 'update public.task_reflections set outcome = outcome')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(db.sql('L', 'delete from public.task_reflection_lessons')).rejects.toMatchObject({
      code: '42501',
    });
  });
});

describeOnServer('reflect_on_task from several connections', () => {
  const db = useTestDatabase();
  const { reflectOnTask, lessonsOf } = reflectionsOf(db);

  it('keeps one row when many calls describe a task at the same time', async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        reflectOnTask('C', { task_id: 'T-many', description: `call ${i}`, lessons: ['Saved by many at once.'] }),
      ),
    );
    const tasks = await db.sql('C', "select * from public.task_reflections where task_id = 'T-many'");
    expect(tasks).toHaveLength(1);
    expect(await lessonsOf('C', tasks[0].task_reflection_id)).toHaveLength(1);
  });
});
