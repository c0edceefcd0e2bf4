// A world is its updates folded in the order of their versions, whatever becomes of them.

import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { embedder } from '../events/words.ts';
import { grepDatabase } from '../support/dump.ts';
import { worldsOf } from './support.ts';

describe('the world model', () => {
  const gateway = useTestGateway({ embedder });
  const { project, apply, world, state, versions, remove, snapshot, diff, restore, isFolded } = worldsOf(gateway);

  it('takes a snapshot, tells what changed since, and goes back to it as a new version', async () => {
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
    // A version in between is still there, and so is what was restored, after more restores.
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
    // The restore is an update like others: when its memory goes, it was never made.
    await remove('L', restored.source_packet);
    await isFolded(restored.audience_id);
  });

  it('is worked out again when a memory is deleted, versions never coming twice', async () => {
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
    // Many at once, in one statement.
    const more = [];
    for (let i = 0; i < 5; i++)
      more.push(await apply('C', p, [{ entity_id: 'x', attributes: { [`k${i}`]: i } }, { entity_id: `y${i}` }]));
    await gateway.sql('C', 'delete from public.packet_store where packet_id = any ($1)', [
      more.slice(1).map((it) => it.source_packet),
    ]);
    expect(await state('C', p)).toStrictEqual({ x: { color: 'red', size: 1, k0: 0 }, y0: {} });
    await isFolded(a.audience_id);
    await gateway.sql('C', 'delete from public.packet_store where project_id = $1', [p]);
    expect(await state('C', p)).toStrictEqual({});
    expect((await world('C', p)).version).toBeGreaterThan(11);
    const left = await gateway.asSuperuser('select 1 from world_model.removed_entities where audience_id = $1', [
      a.audience_id,
    ]);
    expect(left, 'not even names stay').toStrictEqual([]);
  });

  it('is worked out again by all who delete at once, none waiting for another for ever', async () => {
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
    const strays = await gateway.asSuperuser(
      'select 1 from public.world_model_entities e where not exists (select from public.packet_store p where p.packet_id = e.source_packet)',
    );
    expect(strays).toStrictEqual([]);
  });

  it('shows nothing erased in entities, former versions, snapshots or differences, and no word of it is anywhere', async () => {
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
    await gateway.inSuperuserSession((client) => client.query('analyze'));
    const grep = () => gateway.inSuperuserSession((client) => grepDatabase(client, [word]));
    const held = await grep();
    for (const table of ['world_model_entities', 'world_model_updates'])
      expect(held[`public.${table}`], table).toBeTruthy();
    expect(held['pg_catalog.pg_statistic']).toBeUndefined();
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [secret.source_packet]);
    expect(await grep()).toStrictEqual({});
    expect(await state('C', p)).toStrictEqual({ kept: { uses: 'x' } });
    expect(await state('C', p, ', version => 2')).toStrictEqual({ kept: { uses: 'x' } });
    expect(await diff('C', p, s.snapshot_id)).toStrictEqual([]);
    const [again] = await gateway.sql(
      'C',
      'select entity_count, relation_count from public.world_model_snapshots where snapshot_id = $1',
      [s.snapshot_id],
    );
    expect(again).toStrictEqual({ entity_count: 1, relation_count: 0 });
    await isFolded(secret.audience_id);
  });

  it('moves updates to the end of the other world with their memory, and works both out again', async () => {
    const p = project();
    const a = await apply('C', p, [{ entity_id: 'x', attributes: { from: 'a' } }]);
    const b = await apply('C', p, [{ entity_id: 'x', attributes: { secret: 'b' } }, { entity_id: 'y' }]);
    const s = await snapshot('C', p);
    await apply('L', p, [{ entity_id: 'y', attributes: { private: true } }], { scope: 'l-private' });
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { from: 'a' } });
    expect(await state('L', p, '', 'l-private')).toStrictEqual({ x: { secret: 'b' }, y: { private: true } });
    const privately = await world('L', p, '', 'l-private');
    expect(privately.version).toBe(2);
    expect((await world('C', p)).version).toBe(3);
    expect(await diff('C', p, s.snapshot_id)).toStrictEqual([]);
    await isFolded(a.audience_id);
    await isFolded(privately.audience_id);
    await gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { from: 'a', secret: 'b' }, y: {} });
    expect((await world('C', p)).version).toBe(4);
    await isFolded(a.audience_id);
    await isFolded(privately.audience_id);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [s.source_packet]);
    expect(
      await gateway.sql('L', 'select 1 from public.world_model_snapshots where snapshot_id = $1', [s.snapshot_id]),
    ).toStrictEqual([]);
  });

  it('hides what rests on an expired memory at once, and works it out again', async () => {
    const p = project();
    const a = await apply('C', p, [{ entity_id: 'x', attributes: { stays: 1 } }, { entity_id: 'z' }]);
    const b = await apply('C', p, [{ entity_id: 'x', attributes: { goes: 1 } }]);
    await gateway.sql('C', "select public.update_memory($1, ttl => now() + interval '1 hour')", [b.source_packet]);
    expect(await state('C', p)).toStrictEqual({ x: { stays: 1, goes: 1 }, z: {} });
    expect((await world('C', p)).version, 'a shorter life is no change of the world').toBe(2);
    const expire = () =>
      gateway.asSuperuser(
        `set session_replication_role = replica;
         update public.packet_store set ttl = now() - interval '1 s' where packet_id = '${b.source_packet}';
         update public.world_model_updates set ttl = now() - interval '1 s' where source_packet = '${b.source_packet}';
         update public.world_model_entities set ttl = now() - interval '1 s' where audience_id = '${a.audience_id}' and ttl is not null;
         set session_replication_role = origin`,
      );
    await expire();
    expect(await state('C', p)).toStrictEqual({ z: {} });
    await apply('C', p, [{ entity_id: 'x', attributes: { more: 1 } }]);
    expect(await state('C', p), 'nothing is built on what has expired').toStrictEqual({
      x: { stays: 1, more: 1 },
      z: {},
    });
    await gateway.sql('L', 'select public.delete_expired_memories()');
    expect(await state('C', p)).toStrictEqual({ x: { stays: 1, more: 1 }, z: {} });
    await isFolded(a.audience_id);
  });

  it('is always what its updates make up, whatever is done in whatever order', async () => {
    // As it ought to be, worked out in a few lines: updates in order, a restore being what it went back to.
    const [p, q] = [project(), project()];
    type Update = {
      version: number;
      packet: string;
      entities: Record<string, Record<string, unknown> | null>;
      restores: Update[] | null;
    };
    const model: Record<string, Update[]> = { [p]: [], [q]: [] };
    let seed = 7;
    const random = (n: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * n);
    };
    const lineage = (updates: Update[]): Update[] => {
      let line: Update[] = [];
      for (const update of updates) line = update.restores ? [...update.restores] : [...line, update];
      return line;
    };
    const fold = (of: string) => {
      const result: Record<string, Record<string, unknown>> = {};
      for (const { entities } of lineage(model[of]!).filter((update) => model[of]!.includes(update)))
        for (const [id, attributes] of Object.entries(entities)) {
          if (attributes === null) delete result[id];
          else {
            result[id] = { ...result[id], ...attributes };
            for (const [key, value] of Object.entries(result[id]!)) if (value === null) delete result[id]![key];
          }
        }
      return result;
    };
    const seen = { [p]: 0, [q]: 0 } as Record<string, number>;
    for (let step = 0; step < 120; step++) {
      const of = random(3) ? p : q;
      const updates = model[of]!;
      const act = random(10);
      const now = (await world('L', of)).version as number;
      if (act < 6 || updates.length === 0) {
        const entities: Update['entities'] = {};
        for (let n = 0; n <= random(3); n++)
          entities[`e${random(5)}`] = random(6)
            ? { [`k${random(3)}`]: random(4) || null, [`j${random(2)}`]: step }
            : null;
        const applied = await apply(
          random(2) ? 'C' : 'L',
          of,
          Object.entries(entities).map(([entity_id, attributes]) =>
            attributes ? { entity_id, attributes } : { entity_id, delete: true },
          ),
        );
        updates.push({ version: applied.state_version_after, packet: applied.source_packet, entities, restores: null });
      } else if (act < 8) {
        const version = random(now + 1);
        const past = updates.filter((update) => update.version <= version);
        const made = await restore('L', of, version);
        updates.push({
          version: made.state_version_after,
          packet: made.source_packet,
          entities: {},
          restores: lineage(past),
        });
      } else if (act < 9) {
        const [gone] = updates.splice(random(updates.length), 1);
        await remove('L', gone!.packet);
      } else {
        const other = of === p ? q : p;
        const [moved] = updates.splice(random(updates.length), 1);
        await gateway.sql('L', 'select public.update_memory($1, project_id => $2)', [moved!.packet, other]);
        const [{ v }] = await gateway.sql(
          'L',
          'select state_version_after as v from public.world_model_updates where source_packet = $1',
          [moved!.packet],
        );
        model[other]!.push({ ...moved!, version: v, restores: null });
      }
      for (const it of [p, q]) {
        const { version, audience_id } = await world('L', it);
        expect(version).toBeGreaterThanOrEqual(seen[it]!);
        seen[it] = version;
        expect(await state('L', it), `step ${step}`).toStrictEqual(fold(it));
        await isFolded(audience_id);
      }
    }
  });
});
