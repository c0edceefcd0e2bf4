// Whose worlds, snapshots and versions a caller can name.
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('a version of a world', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { project, apply, world, state, snapshot } = worldsOf(db);

  it('hides worlds of other scopes, tenants and users as if they did not exist', async () => {
    const p = project();
    const second = await addTenant(db, 'the-other');
    const hidden = await apply('L', p, [{ entity_id: 'hush', attributes: { hush: 1 } }], { scope: 'l-private' });
    const [shot] = await db.sql('L', "select (r).* from public.snapshot_world('hush', 'l-private', $1) r", [p]);
    const foreign = await apply('C', p, [{ entity_id: 'foreign' }], {}, second);
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };
    const ofUser = await apply('C', p, [{ entity_id: 'of-user' }], {}, user);
    const own = await apply('C', p, [{ entity_id: 'own' }]);
    expect(own.state_version_after, 'C has a world of its own, whose versions start at 1').toBe(1);
    expect(await state('C', p)).toStrictEqual({ own: {} });
    expect(await state('C', p, '', 'developer', user)).toStrictEqual({ 'of-user': {} });
    expect(await state('C', p, `, audience_id => '${own.audience_id}'`, 'developer', user)).toStrictEqual({ own: {} });

    for (const table of ['world_model_entities', 'world_model_updates', 'world_model_snapshots']) {
      const [{ n }] = await db.sql('C', `select count(*)::int as n from public.${table} where audience_id = any ($1)`, [
        [hidden.audience_id, foreign.audience_id, ofUser.audience_id],
      ]);
      expect(n, table).toBe(0);
      for (const statement of [
        `delete from public.${table}`,
        `insert into public.${table} default values`,
        `update public.${table} set scope = 'global'`,
      ])
        await expect(db.sql('C', statement)).rejects.toMatchObject({ code: '42501' });
    }
    const missing = '01900000-0000-7000-8000-00000000dead';
    /** The same answer for what is hidden and for what does not exist, apart from the id in it. */
    const alike = async (call: (id: string) => [string, unknown[]], ids: string[]) => {
      const answer = (id: string) =>
        db.sql('C', ...call(id)).then(
          (rows) => JSON.stringify(rows).replaceAll(id, '…'),
          (error) => `${error.code} ${error.column} ${error.message.replaceAll(id, '…')}`,
        );
      for (const id of ids) expect(await answer(id), call(id)[0]).toBe(await answer(missing));
    };
    const foreignWorlds = [hidden.audience_id, foreign.audience_id, ofUser.audience_id];
    await alike((id) => ['select public.get_world_model(audience_id => $1)', [id]], foreignWorlds);
    await alike((id) => ['select world_model.resolve_world(null, null, $1)', [id]], foreignWorlds);
    await alike((id) => ["select * from public.diff_world('0', '1', audience_id => $1)", [id]], foreignWorlds);
    await alike((id) => ["select * from world_model.fold_world($1, '{[1,10]}')", [id]], foreignWorlds);
    await alike((id) => ['select world_model.world_lineage($1, 1)', [id]], foreignWorlds);
    await alike((id) => ['select public.restore_world($1)', [id]], [shot.snapshot_id]);
    await alike(
      (id) => ['select public.restore_world($1, source_packet => $2)', [id, own.source_packet]],
      [shot.snapshot_id],
    );
    await alike(
      (id) => ['select world_model.write_world_restore($2, $1, null)', [id, own.source_packet]],
      [shot.snapshot_id],
    );
    await alike((id) => ['select * from public.diff_world($1, $2)', [id, '0']], [shot.snapshot_id]);
    const packets = [hidden.source_packet, foreign.source_packet, ofUser.source_packet];
    const insight = JSON.stringify({ insight_type: 'x', content: 'y' });
    await alike((id) => ['select public.apply_world_update($2, source_packet => $1)', [id, insight]], packets);
    await alike((id) => ['select world_model.write_world_update($1, $2, 5)', [id, insight]], packets);
    await alike((id) => ["select world_model.write_world_snapshot($1, 'x')", [id]], packets);
    await alike((id) => ["select world_model.write_world_restore($1, '0', 5)", [id]], packets);
    for (const scope of ['l-private', 'no-such-scope']) {
      await expect(world('C', p, '', scope)).rejects.toMatchObject({
        code: 'L9SCP',
        column: 'scope',
        message: 'scope: you may read developer, global',
      });
      await expect(apply('C', p, [], { scope, expected: 99 })).rejects.toMatchObject({
        code: 'L9SCP',
        column: 'scope',
      });
    }
    for (const call of [
      'recompute_world(gen_random_uuid(), true)',
      'lock_world(gen_random_uuid())',
      'take_next_version(gen_random_uuid(), null)',
      "merge_into_entity(null, '{}')",
      "measure_world(gen_random_uuid(), '{}')",
    ])
      await expect(db.sql('C', `select world_model.${call}`), call).rejects.toMatchObject({ code: '42501' });
    for (const table of ['worlds', 'removed_entities', 'stale_worlds'])
      await expect(db.sql('C', `select * from world_model.${table}`)).rejects.toMatchObject({ code: '42501' });
    // A token limited to some projects reaches no other project.
    const cut = { 'jwt.claims.projects': '["elsewhere"]' };
    await expect(world('C', p, '', 'developer', cut)).rejects.toMatchObject({ code: 'L9SCP', column: 'project_id' });
    await expect(world('C', p, `, audience_id => '${own.audience_id}'`, 'developer', cut)).rejects.toMatchObject({
      code: 'L9OWN',
      column: 'audience_id',
    });
  });

  it('refuses changes by a caller that may only read the scope', async () => {
    const p = project();
    await db.asSuperuser(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       select tenant_id, 'R', 'Reader', 'reader', 'reader', 'l9_agent', '{developer}', '{}' from public.actors where caller = 'C' limit 1`,
    );
    const own = await apply('C', p, [{ entity_id: 'a' }]);
    const s = await snapshot('C', p);
    expect(await state('R', p)).toStrictEqual({ a: {} });
    for (const [call, values] of [
      [
        'select public.apply_world_update($1, project_id => $2)',
        [JSON.stringify({ insight_type: 'x', content: 'y' }), p],
      ],
      [
        'select public.apply_world_update($1, source_packet => $2)',
        [JSON.stringify({ insight_type: 'x' }), own.source_packet],
      ],
      ['select public.snapshot_world(source_packet => $1)', [own.source_packet]],
      ['select public.restore_world($1, source_packet => $2)', [s.snapshot_id, own.source_packet]],
    ] as const)
      await expect(db.sql('R', call, [...values]), call).rejects.toMatchObject({
        code: expect.stringMatching(/^(L9SCP|42501)$/),
      });
  });

  it('rejects invalid versions, snapshots, limits and descriptions', async () => {
    for (const call of [
      'diff_world(null)',
      "diff_world('x')",
      'get_world_model(max_entities => 0)',
      'get_world_model(version => -1)',
      "snapshot_world(repeat('x', 1001))",
      "restore_world('x')",
      'restore_world(null)',
    ])
      await expect(db.sql('C', `select public.${call}`), call).rejects.toMatchObject({
        code: expect.stringMatching(/^L9(VAL|LIM)$/),
      });
  });
});
