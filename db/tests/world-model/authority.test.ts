// Whose word an attribute is: what an administrator set stands against what agents set, whenever they do.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('the word of an administrator in a world', () => {
  const db = useTestDatabase();
  const { project, apply, world, state, restore, isFolded, remove } = worldsOf(db);
  const save = async (caller: string, args: string): Promise<string> => {
    const [{ id }] = await db.sql(caller, `select ((public.save_memory(${args})).memory).packet_id as id`);
    return id;
  };

  it('stays when an agent set the attribute before, sets it again, removes it or deletes the entity', async () => {
    const p = project();
    const first = await apply('C', p, [
      { entity_id: 'API', entity_type: 'toy', attributes: { port: 1, colour: 'red' }, confidence: 0.3 },
    ]);
    await apply('L', p, [{ entity_id: 'Api', entity_type: 'service', attributes: { port: 443 }, confidence: 0.9 }]);
    const entity = async () => (await world('C', p)).entities[0];
    const before = await entity();
    expect(before).toMatchObject({
      entity_id: 'Api',
      entity_type: 'service',
      attributes: { port: 443, colour: 'red' },
      confidence: 0.9,
      set_by: {
        port: { creator: 'L-CTO', is_from_admin: true },
        colour: { creator: 'Cursor-IDE', is_from_admin: false },
      },
    });
    for (const change of [
      { entity_id: 'API', attributes: { port: 2 } },
      { entity_id: 'API', attributes: { port: null } },
      { entity_id: 'API', entity_type: 'toy', confidence: 1 },
    ]) {
      await apply('C', p, [change]);
      expect(await entity()).toStrictEqual(before);
      await isFolded(first.audience_id);
    }
    const recorded = await db.sql(
      'C',
      'select outranked from public.world_model_updates where project_id = $1 order by state_version_after',
      [p],
    );
    expect(recorded.map(({ outranked }) => outranked)).toStrictEqual([
      [],
      [],
      [{ entity_id: 'API', keys: ['port'] }],
      [{ entity_id: 'API', keys: ['port'] }],
      [{ entity_id: 'API', keys: ['entity_type'] }],
    ]);
    await apply('C', p, [{ entity_id: 'api', delete: true }]);
    expect(await state('C', p), 'a delete takes away what agents set').toStrictEqual({ Api: { port: 443 } });
    await isFolded(first.audience_id);
    await apply('L', p, [{ entity_id: 'api', attributes: { port: null } }]);
    await apply('C', p, [{ entity_id: 'api', attributes: { port: 3 } }]);
    expect(await state('C', p), 'the administrator took its value away').toStrictEqual({ Api: { port: 3 } });
    await isFolded(first.audience_id);
  });

  it('stays when an agent restores a former version, also one that the administrator took back', async () => {
    const p = project();
    await apply('C', p, [{ entity_id: 'a', attributes: { of: 'C' } }]);
    await apply('L', p, [{ entity_id: 'a', attributes: { of: 'L', wrong: true } }]);
    const { audience_id } = await restore('L', p, 1);
    await apply('L', p, [{ entity_id: 'a', attributes: { of: 'L again' } }]);
    await apply('C', p, [{ entity_id: 'a', attributes: { more: 1 } }]);
    for (const version of [0, 1, 2]) {
      await restore('C', p, version);
      expect(await state('C', p), `version ${version}`).toStrictEqual({ a: { of: 'L again' } });
      await isFolded(audience_id);
    }
    await restore('L', p, 5);
    expect(await state('C', p)).toStrictEqual({ a: { of: 'L again', more: 1 } });
  });

  it('is not hidden by what an agent says from a memory that expires', async () => {
    const p = project();
    const soon = () => save('C', `'soon ${Math.random()}', project_id => '${p}', ttl => now() + interval '1 second'`);
    const early = await apply('C', p, [{ entity_id: 'a', attributes: { early: 1 } }], { packet: await soon() });
    await apply('L', p, [{ entity_id: 'a', attributes: { of: 'L' } }]);
    await apply('C', p, [{ entity_id: 'a', attributes: { late: 1 } }], { packet: await soon() });
    expect(await state('C', p)).toStrictEqual({ a: { of: 'L' } });
    await isFolded(early.audience_id);
    await new Promise((done) => setTimeout(done, 1200));
    expect(await state('C', p)).toStrictEqual({ a: { of: 'L' } });
  });

  it('keeps the memory of an agent from which an administrator changes the world', async () => {
    const p = project();
    const packet = await save('C', `'what C found', project_id => '${p}'`);
    await apply('L', p, [{ entity_id: 'a', attributes: { of: 'L' } }], { packet });
    await expect(remove('C', packet)).rejects.toMatchObject({ code: 'L9OWN' });
    await expect(
      db.sql('C', "select public.update_memory($1, project_id => 'another')", [packet]),
    ).rejects.toMatchObject({ code: 'L9OWN' });
    expect(await state('C', p)).toStrictEqual({ a: { of: 'L' } });
  });

  it('holds for facts in the world too', async () => {
    const p = project();
    await db.sql('L', "select public.register_predicate('deploys on')");
    const says = (caller: string, object: string) =>
      db.sql(
        caller,
        `select public.assert_fact('billing', 'deploys on', to_jsonb($1::text), project_id => $2, into_world => true)`,
        [object, p],
      );
    await says('C', 'Monday');
    await says('L', 'Tuesday');
    await says('C', 'Friday');
    await apply('C', p, [{ entity_id: 'billing', attributes: { 'deploys on': 'Sunday' } }]);
    const [entity] = (await world('C', p)).entities;
    expect(entity.attributes).toStrictEqual({ 'deploys on': 'Tuesday' });
    expect(entity.set_by['deploys on']).toMatchObject({ creator: 'L-CTO', is_from_admin: true });
  });
});
