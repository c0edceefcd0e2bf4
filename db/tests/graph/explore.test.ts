import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { graphOf, newPlace } from './support.ts';

describe('explore_graph', () => {
  const house = houseOfSuite();
  const graph = graphOf(house);

  const draw = async (project_id: string, edges: [string, string, string, number][]) => {
    for (const [source, type, target, confidence] of edges)
      await graph.relate('C', { source, type, target, confidence, project_id });
  };
  /** Many edges at once, past the doors: as rows of C’s in its tenant. */
  const hub = (project_id: string, entity: string, count: number, scope = 'developer') =>
    asSuperuser(house, async (client) => {
      await client.query('begin; set local session_replication_role = replica');
      await client.query(
        `with source as (
           select packet_id, tenant_id from public.packet_store where project_id = $1 and scope = $4 limit 1
         )
         insert into public.entity_relationships (source_entity, source_normalized, relationship_type, target_entity, target_normalized,
           confidence, source_packet, tenant_id, project_id, scope, creator)
         select $2, $2, 'uses', $2 || ' spoke ' || n, $2 || ' spoke ' || n, 0.9 - 0.8 * n / $3::int, packet_id, tenant_id, $1, $4, 'test'
         from source, generate_series(1, $3::int) n`,
        [project_id, entity, count, scope],
      );
      await client.query('commit; analyze public.entity_relationships');
    });

  it('goes both ways, and says which', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c] = ['a', 'b', 'c'].map(name) as [string, string, string];
    await draw(project_id, [
      [a, 'uses', b, 0.9],
      [c, 'owns', b, 0.5],
    ]);
    const { entity, paths, is_truncated } = await graph.explore('C', { entity: a.toUpperCase() });
    assert.deepEqual([entity, is_truncated], [a.toUpperCase(), false]);
    assert.deepEqual(
      paths.map((path) => [
        path.entity,
        path.confidence,
        path.depth,
        path.steps.map((step) => [step.relationship_type, step.direction]),
      ]),
      [
        [b, 0.9, 1, [['uses', 'outgoing']]],
        [
          c,
          0.45,
          2,
          [
            ['uses', 'outgoing'],
            ['owns', 'incoming'],
          ],
        ],
      ],
    );
  });

  it('takes the best path, also a longer one, and no cycle', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(name) as [string, string, string, string];
    await draw(project_id, [
      [a, 'x', d, 0.1],
      [a, 'x', b, 0.9],
      [b, 'x', c, 0.9],
      [c, 'x', d, 0.9],
      [d, 'x', a, 0.3],
      [c, 'x', a, 0.2],
    ]);
    const at = async (depth: number) =>
      Object.fromEntries((await graph.explore('C', { entity: a, depth })).paths.map((path) => [path.entity, path]));
    assert.equal((await at(1))[d]!.confidence, 0.3);
    assert.deepEqual([(await at(3))[d]!.depth, Math.round((await at(3))[d]!.confidence * 1000)], [3, 729]);
    const deep = await at(5);
    assert.deepEqual(Object.keys(deep), [b, c, d]);
    for (const path of Object.values(deep)) {
      const entities = path.steps.flatMap((step) => [step.source_entity, step.target_entity]);
      assert.equal(new Set(entities).size, path.depth + 1);
      const product = path.steps.reduce((sum, step) => sum * step.confidence, 1);
      assert.ok(Math.abs(path.confidence - product) < 1e-9);
    }
  });

  it('agrees with a search of all simple paths, on random graphs', async () => {
    for (let round = 0; round < 3; round++) {
      const { project_id, name } = newPlace();
      const nodes = Array.from({ length: 9 }, (_, n) => name(`n${n}x`));
      const edges = new Map<string, [string, string, string, number]>();
      for (let n = 0; n < 20; n++) {
        const [from, to] = [Math.floor(Math.random() * 9), Math.floor(Math.random() * 9)];
        if (from !== to)
          // No two alike, so that no two paths are equally sure.
          edges.set(`${from} ${to}`, [nodes[from]!, 'x', nodes[to]!, 0.01 + Math.random() * 0.97]);
      }
      await draw(project_id, [...edges.values()]);
      const best = (depth: number) => {
        const found = new Map<string, number>();
        const walk = (at: string, confidence: number, been: string[]) => {
          if (been.length > depth) return;
          for (const [source, , target, c] of edges.values()) {
            const next = source === at ? target : target === at ? source : null;
            if (next === null || been.includes(next)) continue;
            if (confidence * c > (found.get(next) ?? 0)) found.set(next, confidence * c);
            walk(next, confidence * c, [...been, next]);
          }
        };
        walk(nodes[0]!, 1, [nodes[0]!]);
        return [...found].sort((one, other) => other[1] - one[1]);
      };
      for (const depth of [1, 2, 3, 5])
        for (const limit of [2, 5, 50]) {
          const { paths, is_truncated } = await graph.explore('C', { entity: nodes[0], depth, limit });
          const expected = best(depth);
          const rounded = (list: [string, number][]) => list.map(([entity, c]) => [entity, c.toFixed(6)]);
          assert.deepEqual(
            rounded(paths.map((path) => [path.entity, path.confidence])),
            rounded(expected.slice(0, limit)),
          );
          if (expected.length <= limit) assert.equal(is_truncated, false);
          if (depth === 1) assert.equal(is_truncated, expected.length > limit);
        }
    }
  });

  it('keeps to types and to a least confidence', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c] = ['a', 'b', 'c'].map(name) as [string, string, string];
    await draw(project_id, [
      [a, 'uses', b, 0.9],
      [a, 'owns', c, 0.6],
      [b, 'uses', c, 0.5],
    ]);
    const reached = async (args: object) =>
      (await graph.explore('C', { entity: a, ...args })).paths.map((path) => [path.entity, path.confidence]);
    assert.deepEqual(await reached({ types: ['Owns'] }), [[c, 0.6]]);
    assert.deepEqual(await reached({ types: ['uses'] }), [
      [b, 0.9],
      [c, 0.45],
    ]);
    assert.deepEqual(await reached({ min_confidence: 0.7 }), [[b, 0.9]]);
    assert.deepEqual(await reached({ types: [] }), []);
  });

  it('refuses what it can’t be asked', async () => {
    const refused = (args: object, code: string, field: string) =>
      assert.rejects(graph.explore('C', { entity: 'x', ...args }), { code, column: field });
    await refused({ depth: 0 }, 'L9VAL', 'depth');
    await refused({ depth: 6 }, 'L9VAL', 'depth');
    await refused({ limit: 0 }, 'L9VAL', 'limit');
    await refused({ limit: 501 }, 'L9VAL', 'limit');
    await refused({ min_confidence: 2 }, 'L9VAL', 'min_confidence');
    await refused({ entity: ' ' }, 'L9VAL', 'entity');
    await refused({ types: Array(65).fill('x') }, 'L9LIM', 'types');
    await assert.rejects(graph.explore('C', { entity: 'x' }, { 'jwt.claims.caller': 'nobody' }), { code: 'L9AUT' });
  });

  it('combines what several places say, for who sees them, and for nobody else', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'b'].map(name) as [string, string];
    const triple = { source: a, type: 'uses', target: b, confidence: 0.5 };
    await graph.relate('C', { ...triple, project_id });
    await graph.relate('C', { ...triple, scope: 'global' });
    await graph.relate('L', { ...triple, scope: 'l-private', project_id });
    const seen = async (caller: string, claims = {}) =>
      (await graph.explore(caller, { entity: a }, claims)).paths.map((path) => [
        path.confidence,
        path.steps[0]!.relationship_ids.length,
      ]);
    assert.deepEqual(await seen('C'), [[0.75, 2]]);
    assert.deepEqual(await seen('L'), [[0.875, 3]]);
    assert.deepEqual(await seen('C', { 'jwt.claims.scopes': 'global' }), [[0.5, 1]]);
    assert.deepEqual(await seen('C', { 'jwt.claims.projects': 'another' }), [[0.5, 1]]);
    assert.deepEqual(await seen('C', await addTenant(house, 'graph-explore')), []);
  });

  it('tells nothing of what is hidden: no path through it, no count, no cut', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(name) as [string, string, string, string];
    await draw(project_id, [
      [a, 'uses', b, 0.9],
      [c, 'uses', d, 0.9],
    ]);
    const before = await graph.explore('C', { entity: a, depth: 5 });
    // A bridge from b to c, a hub at a, names for a and b: all of them private.
    for (const scope of ['l-private']) {
      await graph.relate('L', { source: b, type: 'uses', target: c, confidence: 0.9, project_id, scope });
      await graph.addAlias('L', { alias: b, entity: d, project_id, scope });
      await graph.addAlias('L', { alias: a, entity: `${a} secret`, project_id, scope });
      await hub(project_id, a, 3_000, scope);
    }
    assert.deepEqual(await graph.explore('C', { entity: a, depth: 5 }), before);
    assert.deepEqual([before.edges_followed, before.is_truncated], [2, false]);
    const all = await graph.explore('L', { entity: a, depth: 5 });
    assert.equal(all.is_truncated, true);
    assert.match(JSON.stringify(all), /secret/);
    assert.deepEqual((await graph.explore('C', { entity: `${a} secret` })).paths, []);
    // The same for rows of a user, and for another project.
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000dd' };
    await graph.relate('C', { source: a, type: 'uses', target: `${a} users`, project_id }, user);
    await graph.relate('C', { source: a, type: 'uses', target: `${a} projects`, project_id: `${project_id}-other` });
    assert.deepEqual(await graph.explore('C', { entity: a, depth: 5 }, { 'jwt.claims.projects': project_id }), before);
    assert.match(JSON.stringify(await graph.explore('C', { entity: a }, user)), /users/);
  });

  it('answers for a hub in bounded work, the best first, and says that it was cut', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'hub'].map(name) as [string, string];
    await draw(project_id, [[a, 'uses', b, 0.9]]);
    await hub(project_id, b, 10_000);
    const { paths, is_truncated, edges_followed } = await graph.explore('C', { entity: b, depth: 1, limit: 500 });
    assert.equal(is_truncated, true);
    assert.ok(edges_followed <= 1_001, `${edges_followed}`);
    assert.deepEqual(
      paths.slice(0, 4).map((path) => path.entity),
      [a, 1, 2, 3].map((n) => (typeof n === 'string' ? n : `${b} spoke ${n}`)),
    );
    const deep = await graph.explore('C', { entity: a, depth: 5, limit: 500 });
    assert.equal(deep.is_truncated, true);
    assert.ok(deep.edges_followed <= 20_000);
    assert.equal(deep.paths[0]!.entity, b);
  });

  it('reads through the indexes, as the agent, both ways', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'big'].map(name) as [string, string];
    await draw(project_id, [[a, 'uses', b, 0.9]]);
    await hub(project_id, b, 4_000);
    for (const [column, index] of [
      ['source_normalized', 'entity_relationships_outgoing_idx'],
      ['target_normalized', 'entity_relationships_incoming_idx'],
    ]) {
      const rows = await house.sql(
        'C',
        `explain (costs off) select * from public.entity_relationships r
         where r.tenant_id = (select identity.current_tenant_id()) and r.${column} = $1 and r.scope = $2 and (r.ttl is null or r.ttl > now())
         order by r.confidence desc limit 100`,
        [b, 'developer'],
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      assert.match(plan, new RegExp(`Index Scan using ${index}`));
      assert.match(plan, /Index Cond: \(.*tenant_id.*normalized.*scope/);
      assert.doesNotMatch(plan, /Sort/);
    }
  });

  it('fails in a read-only transaction, because the read could not be audited', async () => {
    await house.asCaller('C', async (client) => {
      await client.query('set transaction read only');
      await assert.rejects(client.query(`select public.explore_graph('x')`), { code: '25006' });
    });
  });
});
