// Rows of which there is one for each owner, scope and project: an expired one is replaced, another one is not.
import { reflectionsOf } from '../reflection/support.ts';
import { summariesOf } from '../summaries/support.ts';
import { eventually } from '../support/eventually.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a derived row that a unique index allows once for each scope', () => {
  const db = useTestDatabase();
  const { reflectOnTask } = reflectionsOf(db);
  const { sum } = summariesOf(db);

  // Each has a text of its own, so that no memory is a duplicate.
  let number = 0;
  const move = (id: string, scope: string) => db.sql('L', 'select public.update_memory($1, scope => $2)', [id, scope]);
  const expire = async (id: string) => {
    await db.sql('L', "select public.update_memory($1, ttl => clock_timestamp() + interval '50 milliseconds')", [id]);
    await eventually(
      async () => (await db.sql('L', 'select from public.packet_store where packet_id = $1', [id])).length === 0,
    );
  };

  const derive: Record<string, (caller?: string) => Promise<string>> = {
    'a reflection on a task': async (caller = 'L') =>
      (await reflectOnTask(caller, { task_id: 'T-1', description: `Count ${++number} swifts`, outcome: 'success' }))
        .source_packet,
    'a summary of a subject': async (caller = 'L') => {
      const source = await saveMemory(db, 'L', { content: `Swifts sleep in flight, ${++number} times.` });
      return (await sum(caller, [source], { scope_value: 'swifts', summary_text: `They sleep, ${number}.` }))
        .source_packet;
    },
  };

  it.each(
    Object.keys(derive),
  )('lets %s replace an expired one when it is derived or moved, and no other', async (what) => {
    const first = await derive[what]!();
    await move(first, 'l-private');
    const second = await derive[what]!();
    expect(second).not.toBe(first);
    await expect(move(second, 'l-private')).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/^scope: .* already$/),
    });
    await expire(first);
    await move(second, 'l-private');

    const third = await derive[what]!();
    await expire(third);
    const fourth = await derive[what]!('C');
    expect(fourth).not.toBe(third);
    await expect(move(second, 'developer')).rejects.toMatchObject({ code: 'L9VAL' });
  });
});
