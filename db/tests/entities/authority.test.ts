// Whose word an alias is: where others speak of its names, an agent's alias counts for itself until an administrator confirms it.
import { assertFact, objects } from '../facts/support.ts';
import { graphOf, newPlace } from '../graph/support.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('an alias by an agent', () => {
  const db = useTestDatabase();
  const graph = graphOf(db);
  beforeAll(() => db.sql('L', "select public.register_actor('D')"));
  const place = () => {
    const { project_id, name } = newPlace();
    return { project_id, billing: name('billing'), evil: name('evil') };
  };
  const aliasesFor = (caller: string, name: string) =>
    db.sql(caller, 'select alias, entity, creator, confirmed_by from public.applied_aliases($1)', [name]);
  const aliasOf = async (project_id: string, alias: string) =>
    (
      await db.asSuperuser(
        'select alias_id from public.entity_aliases where project_id = $1 and alias_normalized = $2',
        [project_id, alias],
      )
    )[0].alias_id as string;

  it('redirects nobody else where others state something of its name, until an administrator confirms it', async () => {
    const { project_id, billing, evil } = place();
    await assertFact(db, 'L', [billing, 'runs in', 'Frankfurt'], { project_id });
    await assertFact(db, 'C', [evil, 'runs in', 'a basement'], { project_id });
    await graph.relate('L', { source: billing, type: 'uses', target: `${billing} db`, project_id });
    await graph.relate('C', { source: evil, type: 'uses', target: `${evil} db`, project_id });
    await graph.addAlias('C', { alias: billing, entity: evil, project_id });
    for (const caller of ['L', 'D']) {
      expect(await objects(db, caller, billing)).toStrictEqual(['Frankfurt']);
      const { entity, paths, known_as } = await graph.explore(caller, { entity: billing });
      expect([entity, known_as, paths.map((path) => path.entity)]).toStrictEqual([
        billing,
        [billing],
        [`${billing} db`],
      ]);
      expect(await aliasesFor(caller, billing)).toStrictEqual([]);
    }
    expect((await objects(db, 'C', billing)).sort(), 'its writer').toStrictEqual(['Frankfurt', 'a basement']);
    expect(await aliasesFor('C', billing)).toStrictEqual([
      { alias: billing, entity: evil, creator: 'Cursor-IDE', confirmed_by: null },
    ]);

    const id = await aliasOf(project_id, billing);
    await expect(db.sql('C', 'select public.confirm_alias($1)', [id])).rejects.toMatchObject({ code: '42501' });
    await db.sql('L', 'select public.confirm_alias($1)', [id]);
    expect((await objects(db, 'D', billing)).sort()).toStrictEqual(['Frankfurt', 'a basement']);
    expect(await aliasesFor('D', evil)).toStrictEqual([
      { alias: billing, entity: evil, creator: 'Cursor-IDE', confirmed_by: 'L-CTO' },
    ]);
    const [{ source_packet }] = await db.asSuperuser(
      'select source_packet from public.entity_aliases where alias_id = $1',
      [id],
    );
    await expect(db.sql('C', 'select public.delete_memory($1)', [source_packet])).rejects.toMatchObject({
      code: 'L9OWN',
    });
  });

  it('counts for everybody where nobody else speaks of its names', async () => {
    const { project_id, billing, evil } = place();
    await graph.addAlias('C', { alias: billing, entity: evil, project_id });
    await assertFact(db, 'C', [evil, 'runs in', 'Dublin'], { project_id });
    expect(await objects(db, 'D', billing)).toStrictEqual(['Dublin']);
    await assertFact(db, 'D', [billing, 'runs in', 'Oslo'], { project_id });
    expect(await objects(db, 'D', billing)).toStrictEqual(['Oslo']);
  });

  it('tells nothing of what others state where the caller may not read it', async () => {
    const { project_id, billing, evil } = place();
    const seen = async () => ({
      names: (await db.sql('C', 'select entities.names_of($1) as names', [billing]))[0].names.sort(),
      aliases: await aliasesFor('C', billing),
      ofD: (await db.sql('D', 'select entities.names_of($1) as names', [billing]))[0].names.sort(),
      explored: await graph.explore('D', { entity: billing }),
    });
    await graph.addAlias('C', { alias: billing, entity: evil, project_id });
    const before = await seen();
    await assertFact(db, 'L', [billing, 'is secretly', 'sold'], { project_id, scope: 'l-private' });
    expect(await seen()).toStrictEqual(before);
    expect((await db.sql('L', 'select entities.names_of($1) as names', [billing]))[0].names).toStrictEqual([billing]);
  });

  it('neither blocks nor outranks the alias of an administrator', async () => {
    const { project_id, billing, evil } = place();
    await graph.addAlias('C', { alias: billing, entity: evil, project_id });
    await graph.addAlias('L', { alias: billing, entity: `${billing} service`, project_id });
    expect((await aliasesFor('D', billing)).map(({ entity }) => entity)).toStrictEqual([`${billing} service`]);
    await expect(graph.addAlias('C', { alias: billing, entity: evil, project_id })).rejects.toMatchObject({
      code: 'L9VAL',
    });
  });

  it('is confirmed by an administrator that states the same', async () => {
    const { project_id, billing, evil } = place();
    await graph.addAlias('C', { alias: billing, entity: evil, project_id });
    await graph.addAlias('L', { alias: billing, entity: evil, project_id });
    expect(await aliasesFor('D', billing)).toMatchObject([{ creator: 'Cursor-IDE', confirmed_by: 'L-CTO' }]);
  });
});
