// No row can be derived from a memory that the caller does not see: one that has expired, or, for an admin with a limited
// token, one outside its claims. The error is the same as for a memory that does not exist.
import { setTimeout as sleep } from 'node:timers/promises';
import { useTestDatabase } from '../support/test-database.ts';

describe('a hidden memory', () => {
  const db = useTestDatabase();
  let expired: string;
  let unseen: string;
  const save = async (scope: string, more = '') => {
    const [row] = await db.sql('L', `select (r.memory).packet_id as id from public.save_memory($1, $2, $3 ${more}) r`, [
      `The heron fishes in ${scope}`,
      scope,
      scope === 'global' ? null : 'l9',
    ]);
    return row.id as string;
  };
  beforeAll(async () => {
    unseen = await save('l-private');
    expired = await save('global', ", ttl => clock_timestamp() + interval '50 milliseconds'");
    await sleep(100);
  });

  const calls = {
    assert_fact: "public.assert_fact('heron', 'eats', '\"fish\"', source_packet => $1)",
    relate: "public.relate('heron', 'eats', 'fish', source_packet => $1)",
    add_alias: "public.add_alias('grey heron', 'heron', source_packet => $1)",
    apply_world_update: `public.apply_world_update('{"insight_type": "seen", "entities": [{"entity_id": "heron"}]}', source_packet => $1)`,
    snapshot_world: 'public.snapshot_world(source_packet => $1)',
    save_summary: "public.save_summary('topic', 'heron', 'In short: it fishes.', array[$1::uuid])",
    reflect_on_task:
      "public.reflect_on_task('task 1', 'Watch it', 'success', related_decisions => array[$1::uuid], scope => 'global')",
  };
  const narrow = { 'jwt.claims.scopes': '["global"]' };
  for (const [name, call] of Object.entries(calls)) {
    it(`cannot be the source of ${name}`, async () => {
      const notFound = { code: 'L9OWN' };
      await expect(db.sql('C', `select ${call}`, [expired]), 'C, an expired memory').rejects.toMatchObject(notFound);
      await expect(db.sql('L', `select ${call}`, [expired]), 'L, an expired memory').rejects.toMatchObject(notFound);
      await expect(db.sql('C', `select ${call}`, [unseen]), 'C, a memory in l-private').rejects.toMatchObject(notFound);
      await expect(
        db.sql('L', `select ${call}`, [unseen], narrow),
        'L, limited to the scope global',
      ).rejects.toMatchObject(notFound);
    });
  }

  it('reveals no links to an operator after it expired', async () => {
    await db.asSuperuser("select public.register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    const links = () =>
      db.sql(
        'ops',
        `select 1 from public.memory_summary_sources where summary_packet = $1
         union all select 1 from public.task_reflection_lessons l
           join public.task_reflections t using (task_reflection_id) where t.source_packet = $2`,
        [summary, task],
        { role: 'l9_platform_admin' },
      );
    const source = await save('global', ", 'finding'");
    const [{ id: summary }] = await db.sql(
      'L',
      "select source_packet as id from public.save_summary('topic', 'expiry', 'In short: it fishes.', array[$1::uuid])",
      [source],
    );
    const [{ id: task }] = await db.sql(
      'L',
      "select source_packet as id from public.reflect_on_task('task 2', 'Watch it', 'success', lessons => '{Watch it early}', scope => 'global')",
    );
    expect(await links()).toHaveLength(2);
    for (const id of [summary, task]) {
      await db.sql(
        'L',
        "update public.packet_store set ttl = clock_timestamp() + interval '20 milliseconds' where packet_id = $1",
        [id],
      );
    }
    await sleep(60);
    const all = 'select summary_packet from public.memory_summary_sources where summary_packet = $1';
    expect(await db.sql('ops', all, [summary], { role: 'l9_platform_admin' })).toHaveLength(0);
    const lessons = 'select task_reflection_id from public.task_reflection_lessons';
    expect(await db.sql('ops', lessons, [], { role: 'l9_platform_admin' })).toHaveLength(0);
  });
});
