import { graphOf, newPlace } from '../graph/support.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('add_alias', () => {
  const db = useTestDatabase({ rollsBack: true });
  const graph = graphOf(db);

  const place = () => {
    const { project_id, name } = newPlace();
    return { project_id, k8s: name('k8s'), kubernetes: name('Kubernetes'), other: name('other') };
  };
  const names = async (caller: string, entity: string) =>
    ((await db.sql(caller, 'select entities.names_of($1) as names', [entity]))[0].names as string[]).sort();

  it('joins the names of an entity, whichever of them is asked for', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const all = [k8s, kubernetes.toLowerCase(), `kube ${k8s}`].sort();
    await graph.addAlias('C', { alias: k8s.toUpperCase(), entity: kubernetes, project_id });
    await graph.addAlias('C', { alias: `kube ${k8s}`, entity: kubernetes, project_id });
    for (const name of all) expect(await names('C', name)).toStrictEqual(all);
    expect(await names('C', other)).toStrictEqual([other]);

    await graph.relate('C', { source: k8s, type: 'runs', target: other, project_id, confidence: 0.5 });
    await graph.relate('C', { source: kubernetes, type: 'runs', target: other, project_id, confidence: 0.6 });
    for (const entity of [k8s, kubernetes]) {
      const { paths, known_as, entity: start } = await graph.explore('C', { entity });
      expect(known_as.sort()).toStrictEqual(all);
      expect(start).toBe(kubernetes);
      // One agent counts once, by whatever names.
      expect(paths.map((path) => [path.entity, path.confidence])).toStrictEqual([[other, 0.6]]);
      expect(paths[0]!.steps[0]!.relationship_ids).toHaveLength(2);
    }
    expect((await graph.explore('C', { entity: other })).paths.map((path) => path.entity)).toStrictEqual([kubernetes]);
  });

  it('has no effect any more once the memory that states the alias is deleted', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const source_packet = await graph.save('C', { content: `About ${k8s}`, project_id });
    await graph.addAlias('C', { alias: k8s, entity: kubernetes, source_packet });
    await graph.relate('C', { source: k8s, type: 'runs', target: other, project_id });
    await db.sql('C', 'select public.delete_memory($1)', [source_packet]);
    expect(await names('C', k8s)).toStrictEqual([k8s]);
    expect((await graph.explore('C', { entity: kubernetes })).paths).toStrictEqual([]);
    expect((await graph.explore('C', { entity: other })).paths.map((path) => path.entity)).toStrictEqual([k8s]);
  });

  it('refuses a second entity for an alias, and aliases of aliases', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const add = (alias: string, entity: string) => graph.addAlias('C', { alias, entity, project_id });
    const first = await add(k8s, kubernetes);
    expect((await add(k8s.toUpperCase(), kubernetes)).entity_normalized).toBe(first.entity_normalized);
    await expect(add(k8s, other)).rejects.toMatchObject({ code: 'L9VAL', column: 'alias' });
    await expect(add(other, k8s)).rejects.toMatchObject({ code: 'L9VAL', column: 'entity' });
    await expect(add(kubernetes, other)).rejects.toMatchObject({ code: 'L9VAL', column: 'alias' });
    await expect(add(kubernetes, k8s)).rejects.toMatchObject({ code: 'L9VAL', column: 'entity' });
    await expect(add(other, other.toUpperCase())).rejects.toMatchObject({ code: 'L9VAL', column: 'alias' });
    await expect(add('', other)).rejects.toMatchObject({ code: 'L9VAL', column: 'alias' });
    await expect(graph.relate('C', { source: k8s, type: 'is', target: kubernetes, project_id })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'target',
    });
  });

  it('reveals no hidden alias, neither in results nor by refusing another one', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    await graph.addAlias('L', { alias: k8s, entity: kubernetes, project_id, scope: 'l-private' });
    await graph.relate('L', {
      source: kubernetes,
      type: 'runs',
      target: `secret ${other}`,
      project_id,
      scope: 'l-private',
    });
    expect(await names('C', k8s)).toStrictEqual([k8s]);
    await graph.relate('C', { source: k8s, type: 'is', target: kubernetes, project_id });
    // Another meaning and a chain are refused only if the caller can read the conflicting alias.
    await graph.addAlias('C', { alias: k8s, entity: other, project_id });
    await graph.addAlias('C', { alias: kubernetes, entity: `${other} y`, project_id });
    expect(await names('C', k8s)).toStrictEqual([k8s, other].sort());
    const { paths } = await graph.explore('C', { entity: k8s });
    expect(JSON.stringify(paths)).not.toMatch(/secret/);
    // A caller who can read both gets the older meaning, and the walk still ends.
    expect(JSON.stringify(await graph.explore('L', { entity: k8s, depth: 5 }))).toMatch(/secret/);
  });

  it('shows an alias to the readers of its memory, also after the memory moved', async () => {
    const { project_id, k8s, kubernetes } = place();
    const source_packet = await graph.save('L', { content: `About ${k8s}`, project_id });
    await graph.addAlias('L', { alias: k8s, entity: kubernetes, source_packet });
    expect(await names('C', k8s)).toHaveLength(2);
    await db.sql('L', `select public.update_memory($1, scope => 'l-private')`, [source_packet]);
    expect(await names('C', k8s)).toHaveLength(1);
    expect(await names('L', k8s)).toHaveLength(2);
  });
});
