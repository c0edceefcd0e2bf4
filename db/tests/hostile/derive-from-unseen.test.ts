// Nothing is made of a memory that the caller does not see: neither of one that has expired, nor, by an admin whose claims
// are narrower than its tenant, of one beyond them. The answer is the same as if it were not there.
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

describe('a memory that the caller does not see', () => {
  let gateway: TestGateway;
  let expired: string;
  let unseen: string;
  const save = async (scope: string, more = '') => {
    const [row] = await gateway.sql(
      'L',
      `select (r.memory).packet_id as id from public.save_memory($1, $2, $3 ${more}) r`,
      [`The heron fishes in ${scope}`, scope, scope === 'global' ? null : 'l9'],
    );
    return row.id as string;
  };
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    unseen = await save('l-private');
    expired = await save('global', ", ttl => clock_timestamp() + interval '50 milliseconds'");
    await sleep(100);
  });
  afterAll(() => gateway.close());

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
    it(`is no source for ${name}`, async () => {
      const isNotThere = { code: 'L9OWN' };
      await expect(gateway.sql('C', `select ${call}`, [expired]), 'C, of what has expired').rejects.toMatchObject(
        isNotThere,
      );
      await expect(gateway.sql('L', `select ${call}`, [expired]), 'L, of what has expired').rejects.toMatchObject(
        isNotThere,
      );
      await expect(gateway.sql('C', `select ${call}`, [unseen]), 'C, of what is l-private').rejects.toMatchObject(
        isNotThere,
      );
      await expect(
        gateway.sql('L', `select ${call}`, [unseen], narrow),
        'L in scope global alone',
      ).rejects.toMatchObject(isNotThere);
    });
  }

  it('shows no operator what rested on what, once that has expired', async () => {
    await gateway.asSuperuser(
      "select public.register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')",
    );
    const links = () =>
      gateway.sql(
        'ops',
        `select 1 from public.memory_summary_sources where summary_packet = $1
         union all select 1 from public.task_reflection_lessons l
           join public.task_reflections t using (task_reflection_id) where t.source_packet = $2`,
        [summary, task],
        { role: 'l9_platform_admin' },
      );
    const source = await save('global', ", 'decision'");
    const [{ id: summary }] = await gateway.sql(
      'L',
      "select source_packet as id from public.save_summary('topic', 'expiry', 'In short: it fishes.', array[$1::uuid])",
      [source],
    );
    const [{ id: task }] = await gateway.sql(
      'L',
      "select source_packet as id from public.reflect_on_task('task 2', 'Watch it', 'success', lessons => '{Watch it early}', scope => 'global')",
    );
    expect(await links()).toHaveLength(2);
    for (const id of [summary, task]) {
      await gateway.sql(
        'L',
        "update public.packet_store set ttl = clock_timestamp() + interval '20 milliseconds' where packet_id = $1",
        [id],
      );
    }
    await sleep(60);
    const all = 'select summary_packet from public.memory_summary_sources where summary_packet = $1';
    expect(await gateway.sql('ops', all, [summary], { role: 'l9_platform_admin' })).toHaveLength(0);
    const lessons = 'select task_reflection_id from public.task_reflection_lessons';
    expect(await gateway.sql('ops', lessons, [], { role: 'l9_platform_admin' })).toHaveLength(0);
  });
});
