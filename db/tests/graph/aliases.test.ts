import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { graphOf, newPlace } from './support.ts';

describe('aliases', () => {
  const house = houseOfSuite();
  const graph = graphOf(house);

  const place = () => {
    const { project_id, name } = newPlace();
    return { project_id, k8s: name('k8s'), kubernetes: name('Kubernetes'), other: name('other') };
  };
  const names = async (caller: string, entity: string) =>
    ((await house.sql(caller, 'select entities.names_of($1) as names', [entity]))[0].names as string[]).sort();

  it('join the names of an entity, from both ends', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const all = [k8s, kubernetes.toLowerCase(), `kube ${k8s}`].sort();
    await graph.addAlias('C', { alias: k8s.toUpperCase(), entity: kubernetes, project_id });
    await graph.addAlias('C', { alias: `kube ${k8s}`, entity: kubernetes, project_id });
    for (const name of all) assert.deepEqual(await names('C', name), all);
    assert.deepEqual(await names('C', other), [other]);

    await graph.relate('C', { source: k8s, type: 'runs', target: other, project_id, confidence: 0.5 });
    await graph.relate('C', { source: kubernetes, type: 'runs', target: other, project_id, confidence: 0.6 });
    for (const entity of [k8s, kubernetes]) {
      const { paths, known_as, entity: start } = await graph.explore('C', { entity });
      assert.deepEqual(known_as.sort(), all);
      assert.equal(start, kubernetes);
      assert.deepEqual(
        paths.map((path) => [path.entity, path.confidence]),
        [[other, 0.8]],
      );
      assert.equal(paths[0]!.steps[0]!.relationship_ids.length, 2);
    }
    assert.deepEqual(
      (await graph.explore('C', { entity: other })).paths.map((path) => path.entity),
      [kubernetes],
    );
  });

  it('go with their memory, and leave nothing of themselves in relations', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const source_packet = await graph.save('C', { content: `About ${k8s}`, project_id });
    await graph.addAlias('C', { alias: k8s, entity: kubernetes, source_packet });
    await graph.relate('C', { source: k8s, type: 'runs', target: other, project_id });
    await house.sql('C', 'select public.delete_memory($1)', [source_packet]);
    assert.deepEqual(await names('C', k8s), [k8s]);
    assert.deepEqual((await graph.explore('C', { entity: kubernetes })).paths, []);
    assert.deepEqual(
      (await graph.explore('C', { entity: other })).paths.map((path) => path.entity),
      [k8s],
    );
  });

  it('are of one entity, one step far', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    const add = (alias: string, entity: string) => graph.addAlias('C', { alias, entity, project_id });
    const first = await add(k8s, kubernetes);
    assert.equal((await add(k8s.toUpperCase(), kubernetes)).entity_normalized, first.entity_normalized);
    await assert.rejects(add(k8s, other), { code: 'L9VAL', column: 'alias' });
    await assert.rejects(add(other, k8s), { code: 'L9VAL', column: 'entity' });
    await assert.rejects(add(kubernetes, other), { code: 'L9VAL', column: 'alias' });
    await assert.rejects(add(kubernetes, k8s), { code: 'L9VAL', column: 'entity' });
    await assert.rejects(add(other, other.toUpperCase()), { code: 'L9VAL', column: 'alias' });
    await assert.rejects(add('', other), { code: 'L9VAL', column: 'alias' });
    await assert.rejects(graph.relate('C', { source: k8s, type: 'is', target: kubernetes, project_id }), {
      code: 'L9VAL',
      column: 'target',
    });
  });

  it('are told by no refusal where they are not visible', async () => {
    const { project_id, k8s, kubernetes, other } = place();
    await graph.addAlias('L', { alias: k8s, entity: kubernetes, project_id, scope: 'l-private' });
    await graph.relate('L', {
      source: kubernetes,
      type: 'runs',
      target: `secret ${other}`,
      project_id,
      scope: 'l-private',
    });
    assert.deepEqual(await names('C', k8s), [k8s]);
    await graph.relate('C', { source: k8s, type: 'is', target: kubernetes, project_id });
    // Another meaning, and a chain: only who sees both places would know.
    await graph.addAlias('C', { alias: k8s, entity: other, project_id });
    await graph.addAlias('C', { alias: kubernetes, entity: `${other} y`, project_id });
    assert.deepEqual(await names('C', k8s), [k8s, other].sort());
    const { paths } = await graph.explore('C', { entity: k8s });
    assert.doesNotMatch(JSON.stringify(paths), /secret/);
    // Who sees both goes by the older, and what it reads ends.
    assert.match(JSON.stringify(await graph.explore('L', { entity: k8s, depth: 5 })), /secret/);
  });

  it('move with their memory', async () => {
    const { project_id, k8s, kubernetes } = place();
    const source_packet = await graph.save('L', { content: `About ${k8s}`, project_id });
    await graph.addAlias('L', { alias: k8s, entity: kubernetes, source_packet });
    assert.equal((await names('C', k8s)).length, 2);
    await house.sql('L', `select public.update_memory($1, scope => 'l-private')`, [source_packet]);
    assert.equal((await names('C', k8s)).length, 1);
    assert.equal((await names('L', k8s)).length, 2);
  });
});
