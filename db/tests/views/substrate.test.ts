// Reflections, task reflections and summaries with the columns that the older schema names, computed for their reader.
import { useTestDatabase } from '../support/test-database.ts';

describe('a view of the substrate in schema cortex', () => {
  const db = useTestDatabase({ rollsBack: true });
  const one = async (caller: string, statement: string, values: unknown[] = []) =>
    (await db.sql(caller, statement, values))[0];

  const task = async (caller: string, task_id: string, scope: string, lesson: string) =>
    one(
      caller,
      `select (public.reflect_on_task(task_id => $1, description => 'Moved the queue', outcome => 'success', scope => $2, project_id => 'l9',
         lessons => array[$3], false_constraints => array[$3 || ' is no limit'], helpful_patterns => array[$3 || ' is a pattern'],
         execution_time_ms => 1234.5)).*`,
      [task_id, scope, lesson],
    );

  it('shows the lessons of a task, and the task, text, tags and accesses of a lesson', async () => {
    await task('C', 'T-1', 'developer', 'Ask first');
    expect(
      await one(
        'C',
        `select task_id, lessons, false_constraints, helpful_patterns, execution_time_ms from cortex.task_reflections`,
      ),
    ).toStrictEqual({
      task_id: 'T-1',
      lessons: ['Ask first'],
      false_constraints: ['Ask first is no limit'],
      helpful_patterns: ['Ask first is a pattern'],
      execution_time_ms: 1234.5,
    });
    await db.sql('C', `select public.reflect('Vacuum at night', 'lesson', tags => '{postgres}', project_id => 'l9')`);
    const lessons = await db.sql(
      'C',
      `select content, tags, access_count::int, task_id from cortex.reflection_store where reflection_type = 'lesson' order by content`,
    );
    expect(lessons).toStrictEqual([
      { content: 'Ask first', tags: [], access_count: 0, task_id: 'T-1' },
      { content: 'Vacuum at night', tags: ['postgres'], access_count: 0, task_id: null },
    ]);
  });

  it('shows the text and the sources of a summary', async () => {
    const { packet_id } = await one(
      'C',
      `insert into public.packet_store (envelope, project_id, scope) values ('{"content": "A source"}', 'l9', 'developer') returning packet_id`,
    );
    await db.sql(
      'C',
      `select public.save_summary('topic', 'queues', 'They are short.', array[$1::uuid], '{}', '{}', '{}', 0.8, null)`,
      [packet_id],
    );
    expect(await one('C', 'select summary_text, source_packet_ids from cortex.memory_summaries')).toStrictEqual({
      summary_text: 'They are short.',
      source_packet_ids: [packet_id],
    });
  });

  it('shows nothing of what is hidden from its reader, in its rows and in its added columns', async () => {
    await task('L', 'T-secret', 'l-private', 'A secret');
    await task('L', 'T-open', 'developer', 'An open lesson');
    // A lesson of a private task that its readers may read, as after a move.
    await db.asSuperuser(
      `insert into public.task_reflection_lessons (task_reflection_id, reflection_id, tenant_id, created_at)
       select t.task_reflection_id, r.reflection_id, t.tenant_id, '2020-01-01' from public.task_reflections t, public.reflection_store r
       where t.task_id = 'T-secret' and r.scope = 'developer' on conflict do nothing;
       insert into public.task_reflection_lessons (task_reflection_id, reflection_id, tenant_id)
       select t.task_reflection_id, r.reflection_id, t.tenant_id from public.task_reflections t, public.reflection_store r
       where t.task_id = 'T-open' and r.scope = 'l-private' on conflict do nothing`,
    );
    const ofC = {
      lessons: await db.sql('C', 'select * from cortex.reflection_store'),
      tasks: await db.sql('C', 'select * from cortex.task_reflections'),
    };
    expect(ofC.lessons).toHaveLength(3);
    expect(ofC.tasks).toHaveLength(1);
    expect(JSON.stringify(ofC)).not.toMatch(/secret|l-private/);
    expect(new Set(ofC.lessons.map(({ task_id }) => task_id))).toStrictEqual(new Set(['T-open']));
    expect(
      (await db.sql('L', 'select lessons from cortex.task_reflections where task_id = $1', ['T-open']))[0].lessons,
    ).toContain('A secret');
    for (const view of ['reflection_store', 'task_reflections', 'memory_summaries'])
      await expect(db.sql('L', `delete from cortex.${view}`), view).rejects.toMatchObject({ code: '42501' });
  });

  it('shows semantic_memory with the references of its memories', async () => {
    const columns = await db.asSuperuser(
      `select attname from pg_attribute where attrelid = 'public.semantic_memory'::regclass
       and attname in ('correlation_id', 'session_id', 'trace_id')`,
    );
    expect(columns).toHaveLength(3);
  });
});
