// Snapshots, differences between versions, and restores.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('restore_world', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { project, apply, state, versions, remove, snapshot, diff, restore, isFolded } = worldsOf(db);

  it('takes a world back to a snapshot or a former version, as a new version', async () => {
    const p = project();
    await apply('C', p, [
      { entity_id: 'api', attributes: { uses: ['db', 'cache', 'nobody'], port: 1 } },
      { entity_id: 'db', attributes: { host: 'api' } },
      { entity_id: 'cache' },
    ]);
    const before = await snapshot('C', p, 'before the move');
    expect([
      before.state_version,
      before.entity_count,
      before.relation_count,
      before.description,
      before.created_by,
    ]).toStrictEqual([1, 3, 3, 'before the move', 'C']);
    await apply('C', p, [
      { entity_id: 'api', attributes: { port: 2, uses: null } },
      { entity_id: 'cache', delete: true },
    ]);
    await apply('C', p, [{ entity_id: 'queue' }]);
    const changed = [
      {
        entity_id: 'api',
        change: 'changed',
        attributes: { port: 2, uses: null },
        former_attributes: { port: 1, uses: ['db', 'cache', 'nobody'] },
      },
      { entity_id: 'cache', change: 'removed', attributes: null, former_attributes: {} },
      { entity_id: 'queue', change: 'added', attributes: {}, former_attributes: null },
    ];
    const short = (rows: Record<string, unknown>[]) =>
      rows.map(({ entity_id, change, attributes, former_attributes }) => ({
        entity_id,
        change,
        attributes,
        former_attributes,
      }));
    expect(short(await diff('C', p, before.snapshot_id))).toStrictEqual(changed);
    expect(short(await diff('L', p, '1', '3'))).toStrictEqual(changed);
    expect((await diff('C', p, '3', before.snapshot_id)).map(({ change }) => change)).toStrictEqual([
      'changed',
      'added',
      'removed',
    ]);
    expect(await diff('C', p, '3')).toStrictEqual([]);

    const restored = await restore('L', p, before.snapshot_id, 3);
    expect([
      restored.insight_type,
      restored.state_version_after,
      restored.restored_version,
      restored.entities,
    ]).toStrictEqual(['restore', 4, 1, []]);
    expect(await diff('C', p, before.snapshot_id)).toStrictEqual([]);
    expect(await versions('C', p)).toStrictEqual({ api: 3, cache: 2, db: 1 });
    // Versions between restores and restored versions can be restored again.
    await restore('C', p, '3');
    expect(Object.keys(await state('C', p)).sort()).toStrictEqual(['api', 'db', 'queue']);
    await restore('C', p, '4');
    expect(await diff('C', p, before.snapshot_id)).toStrictEqual([]);
    await restore('C', p, '0');
    expect(await state('C', p)).toStrictEqual({});
    await apply('C', p, [{ entity_id: 'api' }]);
    expect((await versions('C', p)).api).toBe(6);
    await isFolded(restored.audience_id);
    await expect(restore('C', p, '99')).rejects.toMatchObject({ code: 'L9VAL', column: 'snapshot' });
    await expect(restore('C', p, before.snapshot_id, 1)).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'expected_version',
    });
    // A restore is an update like others: deleting its memory undoes it.
    await remove('L', restored.source_packet);
    await isFolded(restored.audience_id);
  });
});
