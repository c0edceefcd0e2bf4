// Updates and snapshots when their memory moves.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('a memory that moves', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { project, apply, world, state, snapshot, diff, isFolded } = worldsOf(db);

  it('moves updates with their memory to the end of the other world and recomputes both', async () => {
    const p = project();
    const a = await apply('C', p, [{ entity_id: 'x', attributes: { from: 'a' } }]);
    const b = await apply('C', p, [{ entity_id: 'x', attributes: { secret: 'b' } }, { entity_id: 'y' }]);
    const s = await snapshot('C', p);
    await apply('L', p, [{ entity_id: 'y', attributes: { private: true } }], { scope: 'l-private' });
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { from: 'a' } });
    expect(await state('L', p, '', 'l-private')).toStrictEqual({ x: { secret: 'b' }, y: { private: true } });
    const privately = await world('L', p, '', 'l-private');
    expect(privately.version).toBe(2);
    expect((await world('C', p)).version).toBe(3);
    expect(await diff('C', p, s.snapshot_id)).toStrictEqual([]);
    await isFolded(a.audience_id);
    await isFolded(privately.audience_id);
    await db.sql('L', "select public.update_memory($1, scope => 'developer')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { from: 'a', secret: 'b' }, y: {} });
    expect((await world('C', p)).version).toBe(4);
    await isFolded(a.audience_id);
    await isFolded(privately.audience_id);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [s.source_packet]);
    expect(
      await db.sql('L', 'select 1 from public.world_model_snapshots where snapshot_id = $1', [s.snapshot_id]),
    ).toStrictEqual([]);
  });
});
