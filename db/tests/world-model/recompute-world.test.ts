// What is left of a world when its memories are deleted, erased or expire.
import { grepDatabase } from '../support/dump.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('recompute_world', () => {
  const db = useTestDatabase();
  const { project, apply, world, state, versions, remove, snapshot, diff, restore, isFolded } = worldsOf(db);

  it('removes what deleted memories changed and uses no version number twice', async () => {
    const p = project();
    const a = await apply('C', p, [{ entity_id: 'x', attributes: { color: 'red', size: 1 } }]);
    const b = await apply('C', p, [{ entity_id: 'x', attributes: { color: 'blue' } }, { entity_id: 'only-b' }]);
    const c = await apply('C', p, [{ entity_id: 'x', attributes: { shape: 'round' } }]);
    await remove('C', b.source_packet);
    expect(await state('C', p)).toStrictEqual({ x: { color: 'red', size: 1, shape: 'round' } });
    expect([(await world('C', p)).version, (await versions('C', p)).x]).toStrictEqual([4, 4]);
    await remove('C', c.source_packet);
    expect(await state('C', p)).toStrictEqual({ x: { color: 'red', size: 1 } });
    expect([(await world('C', p)).version, (await versions('C', p)).x]).toStrictEqual([5, 5]);
    await isFolded(a.audience_id);
    const d = await apply('C', p, [{ entity_id: 'x' }]);
    expect(d.state_version_after).toBe(6);
    // Many in one statement.
    const more = [];
    for (let i = 0; i < 5; i++)
      more.push(await apply('C', p, [{ entity_id: 'x', attributes: { [`k${i}`]: i } }, { entity_id: `y${i}` }]));
    await db.sql('C', 'delete from public.packet_store where packet_id = any ($1)', [
      more.slice(1).map((it) => it.source_packet),
    ]);
    expect(await state('C', p)).toStrictEqual({ x: { color: 'red', size: 1, k0: 0 }, y0: {} });
    await isFolded(a.audience_id);
    await db.sql('C', 'delete from public.packet_store where project_id = $1', [p]);
    expect(await state('C', p)).toStrictEqual({});
    expect((await world('C', p)).version).toBeGreaterThan(11);
    const left = await db.asSuperuser('select 1 from world_model.removed_entities where audience_id = $1', [
      a.audience_id,
    ]);
    expect(left, 'no name of an entity is left').toStrictEqual([]);
  });

  it('keeps up with concurrent deletions and updates without a deadlock', async () => {
    const p = project();
    const all = [];
    for (let i = 0; i < 20; i++)
      all.push(await apply('C', p, [{ entity_id: 'x', attributes: { [`k${i}`]: i } }, { entity_id: `y${i}` }]));
    const kept = all.pop()!;
    await Promise.all([
      ...all.reverse().map(({ source_packet }) => remove('C', source_packet)),
      ...Array.from({ length: 5 }, (_, i) => apply('L', p, [{ entity_id: 'x', attributes: { [`n${i}`]: i } }])),
    ]);
    expect(await state('C', p)).toStrictEqual({ x: { k19: 19, n0: 0, n1: 1, n2: 2, n3: 3, n4: 4 }, y19: {} });
    expect((await world('C', p)).version).toBe(44);
    await isFolded(kept.audience_id);
    const strays = await db.asSuperuser(
      'select 1 from public.world_model_entities e where not exists (select from public.packet_store p where p.packet_id = e.source_packet)',
    );
    expect(strays).toStrictEqual([]);
  });

  it('leaves nothing of an erased memory in entities, former versions, snapshots or differences', async () => {
    const p = project();
    const word = `Zqw${Date.now()}`;
    await apply('C', p, [{ entity_id: 'kept', attributes: { uses: 'x' } }]);
    const secret = await apply(
      'C',
      p,
      [
        { entity_id: word, entity_type: word, attributes: { [word]: word } },
        { entity_id: 'kept', attributes: { note: word, uses: word } },
      ],
      { insight: { content: `about ${word}`, insight_type: word.toLowerCase() } },
    );
    const s = await snapshot('C', p);
    expect([s.entity_count, s.relation_count]).toStrictEqual([2, 2]);
    await apply('C', p, [{ entity_id: word, delete: true }]).then(({ source_packet }) => remove('C', source_packet));
    await restore('C', p, s.snapshot_id);
    await db.inSuperuserSession((client) => client.query('analyze'));
    const grep = () => db.inSuperuserSession((client) => grepDatabase(client, [word]));
    const held = await grep();
    for (const table of ['world_model_entities', 'world_model_updates'])
      expect(held[`public.${table}`], table).toBeTruthy();
    expect(held['pg_catalog.pg_statistic']).toBeUndefined();
    await db.sql('L', "select public.erase_memory($1, 'a test')", [secret.source_packet]);
    expect(await grep()).toStrictEqual({});
    expect(await state('C', p)).toStrictEqual({ kept: { uses: 'x' } });
    expect(await state('C', p, ', version => 2')).toStrictEqual({ kept: { uses: 'x' } });
    expect(await diff('C', p, s.snapshot_id)).toStrictEqual([]);
    const [again] = await db.sql(
      'C',
      'select entity_count, relation_count from public.world_model_snapshots where snapshot_id = $1',
      [s.snapshot_id],
    );
    expect(again).toStrictEqual({ entity_count: 1, relation_count: 0 });
    await isFolded(secret.audience_id);
  });

  it('hides entities of an expired memory at once and recomputes them without it', async () => {
    const p = project();
    const a = await apply('C', p, [{ entity_id: 'x', attributes: { stays: 1 } }, { entity_id: 'z' }]);
    const b = await apply('C', p, [{ entity_id: 'x', attributes: { goes: 1 } }]);
    await db.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { stays: 1, goes: 1 }, z: {} });
    expect((await world('C', p)).version, 'a changed expiry makes no new version').toBe(2);
    const expire = () =>
      db.asSuperuser(
        `set session_replication_role = replica;
         update public.packet_store set ttl = now() - interval '1 s' where packet_id = '${b.source_packet}';
         update public.world_model_updates set ttl = now() - interval '1 s' where source_packet = '${b.source_packet}';
         update public.world_model_entities set ttl = now() - interval '1 s' where audience_id = '${a.audience_id}' and ttl is not null;
         set session_replication_role = origin`,
      );
    await expire();
    expect(await state('C', p)).toStrictEqual({ z: {} });
    await apply('C', p, [{ entity_id: 'x', attributes: { more: 1 } }]);
    expect(await state('C', p), 'the update leaves out the expired memory').toStrictEqual({
      x: { stays: 1, more: 1 },
      z: {},
    });
    await db.sql('L', 'select public.delete_expired_memories()');
    expect(await state('C', p)).toStrictEqual({ x: { stays: 1, more: 1 }, z: {} });
    await isFolded(a.audience_id);
  });
});
