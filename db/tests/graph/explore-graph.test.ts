import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { graphOf, newPlace } from './support.ts';

describe('explore_graph', () => {
  const db = useTestDatabase();
  beforeAll(() => db.sql('L', "select public.register_actor('D')"));
  const graph = graphOf(db);

  const draw = async (project_id: string, edges: [string, string, string, number][]) => {
    // An administrator may be as sure as it likes.
    for (const [source, type, target, confidence] of edges)
      await graph.relate('L', { source, type, target, confidence, project_id });
  };
  /** Many edges at once, inserted directly as rows of C in its tenant. */
  const hub = (project_id: string, entity: string, count: number, scope = 'developer') =>
    db.inSuperuserSession(async (client) => {
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

  it('writes the relationships that it shows to the access log of its caller', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = [name('a'), name('b')];
    await draw(project_id, [[a, 'uses', b, 0.9]]);
    const { paths } = await graph.explore('C', { entity: a });
    const shown = paths[0]!.steps[0]!.relationship_ids;
    expect(shown).toHaveLength(1);
    const accesses = (caller: string) =>
      db.sql(
        caller,
        'select target_type, agent_id, access_context, project_id from public.memory_access_log where target_id = any ($1)',
        [shown],
      );
    const row = { target_type: 'relationship', agent_id: 'C', access_context: 'search', project_id };
    expect(await accesses('C')).toStrictEqual([row]);
    expect(await accesses('L')).toStrictEqual([row]);
    expect(await accesses('D'), 'others see only their own').toStrictEqual([]);
  });

  it('follows relationships in both directions and names the direction of each step', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c] = ['a', 'b', 'c'].map(name) as [string, string, string];
    await draw(project_id, [
      [a, 'uses', b, 0.9],
      [c, 'owns', b, 0.5],
    ]);
    const { entity, paths, is_truncated } = await graph.explore('C', { entity: a.toUpperCase() });
    expect([entity, is_truncated]).toStrictEqual([a.toUpperCase(), false]);
    expect(
      paths.map((path) => [
        path.entity,
        path.confidence,
        path.depth,
        path.steps.map((step) => [step.relationship_type, step.direction]),
      ]),
    ).toStrictEqual([
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
    ]);
  });

  it('returns the best path to an entity, even a longer one, without cycles', async () => {
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
    expect((await at(1))[d]!.confidence).toBe(0.3);
    expect([(await at(3))[d]!.depth, Math.round((await at(3))[d]!.confidence * 1000)]).toStrictEqual([3, 729]);
    const deep = await at(5);
    expect(Object.keys(deep)).toStrictEqual([b, c, d]);
    for (const path of Object.values(deep)) {
      const entities = path.steps.flatMap((step) => [step.source_entity, step.target_entity]);
      expect(new Set(entities).size).toBe(path.depth + 1);
      const product = path.steps.reduce((sum, step) => sum * step.confidence, 1);
      expect(Math.abs(path.confidence - product)).toBeLessThan(1e-9);
    }
  });

  it('agrees with an exhaustive search of all simple paths on random graphs', async () => {
    for (let round = 0; round < 3; round++) {
      const { project_id, name } = newPlace();
      const nodes = Array.from({ length: 9 }, (_, n) => name(`n${n}x`));
      const edges = new Map<string, [string, string, string, number]>();
      for (let n = 0; n < 20; n++) {
        const [from, to] = [Math.floor(Math.random() * 9), Math.floor(Math.random() * 9)];
        if (from !== to)
          // Confidences differ, so that no two paths are equal.
          edges.set(`${from} ${to}`, [nodes[from]!, 'x', nodes[to]!, 0.01 + Math.random() * 0.97]);
      }
      await draw(project_id, [...edges.values()]);
      const bestPaths = (depth: number) => {
        const best = new Map<string, number>();
        const walk = (at: string, confidence: number, visited: string[]) => {
          if (visited.length > depth) return;
          for (const [source, , target, c] of edges.values()) {
            const next = source === at ? target : target === at ? source : null;
            if (next === null || visited.includes(next)) continue;
            if (confidence * c > (best.get(next) ?? 0)) best.set(next, confidence * c);
            walk(next, confidence * c, [...visited, next]);
          }
        };
        walk(nodes[0]!, 1, [nodes[0]!]);
        return [...best].sort((one, other) => other[1] - one[1]);
      };
      for (const depth of [1, 2, 3, 5])
        for (const limit of [2, 5, 50]) {
          const { paths, is_truncated } = await graph.explore('C', { entity: nodes[0], depth, limit });
          const expected = bestPaths(depth);
          expect(paths.map((path) => path.entity)).toStrictEqual(expected.slice(0, limit).map(([entity]) => entity));
          // The factors of a product may be taken in another order, which changes its last digits.
          for (const [n, path] of paths.entries())
            expect(Math.abs(path.confidence - expected[n]![1])).toBeLessThan(1e-9);
          if (expected.length <= limit) expect(is_truncated).toBe(false);
          if (depth === 1) expect(is_truncated).toBe(expected.length > limit);
        }
    }
  });

  it('filters by relationship types and by the confidence of a path', async () => {
    const { project_id, name } = newPlace();
    const [a, b, c] = ['a', 'b', 'c'].map(name) as [string, string, string];
    await draw(project_id, [
      [a, 'uses', b, 0.9],
      [a, 'owns', c, 0.6],
      [b, 'uses', c, 0.5],
    ]);
    const reached = async (args: object) =>
      (await graph.explore('C', { entity: a, ...args })).paths.map((path) => [path.entity, path.confidence]);
    expect(await reached({ types: ['Owns'] })).toStrictEqual([[c, 0.6]]);
    expect(await reached({ types: ['uses'] })).toStrictEqual([
      [b, 0.9],
      [c, 0.45],
    ]);
    expect(await reached({ min_confidence: 0.7 })).toStrictEqual([[b, 0.9]]);
    expect(await reached({ types: [] }), 'an empty list is left out').toStrictEqual([
      [b, 0.9],
      [c, 0.6],
    ]);
  });

  it('refuses arguments out of range and callers without an identity', async () => {
    const refuses = (args: object, code: string, field: string) =>
      expect(graph.explore('C', { entity: 'x', ...args })).rejects.toMatchObject({ code, column: field });
    await refuses({ depth: 0 }, 'L9VAL', 'depth');
    await refuses({ depth: 6 }, 'L9VAL', 'depth');
    await refuses({ limit: 0 }, 'L9VAL', 'limit');
    await refuses({ limit: 501 }, 'L9VAL', 'limit');
    await refuses({ min_confidence: 2 }, 'L9VAL', 'min_confidence');
    await refuses({ entity: ' ' }, 'L9VAL', 'entity');
    await refuses({ types: Array(65).fill('x') }, 'L9LIM', 'types');
    await expect(graph.explore('C', { entity: 'x' }, { 'jwt.claims.caller': 'nobody' })).rejects.toMatchObject({
      code: 'L9AUT',
    });
  });

  it('combines the rows of a triple that the caller can read, and no others', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'b'].map(name) as [string, string];
    const triple = { source: a, type: 'uses', target: b, confidence: 0.5 };
    await graph.relate('C', { ...triple, project_id });
    await graph.relate('D', { ...triple, scope: 'global' });
    // An agent that says the same in another scope counts once.
    await graph.relate('C', { ...triple, scope: 'global' });
    await graph.relate('L', { ...triple, scope: 'l-private', project_id, confidence: 0.4 });
    const visible = async (caller: string, claims = {}) =>
      (await graph.explore(caller, { entity: a }, claims)).paths.map((path) => [
        path.confidence,
        path.steps[0]!.relationship_ids.length,
      ]);
    expect(await visible('C')).toStrictEqual([[0.75, 2]]);
    expect(await visible('L'), 'an administrator decides').toStrictEqual([[0.4, 3]]);
    expect(await visible('C', { 'jwt.claims.scopes': 'global' })).toStrictEqual([[0.75, 1]]);
    expect(await visible('C', { 'jwt.claims.projects': 'another' })).toStrictEqual([[0.75, 1]]);
    expect(await visible('C', await addTenant(db, 'graph-explore'))).toStrictEqual([]);
  });

  it('reveals nothing hidden: no path through it, no count, no truncation', async () => {
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
    expect(await graph.explore('C', { entity: a, depth: 5 })).toStrictEqual(before);
    expect([before.edges_followed, before.is_truncated]).toStrictEqual([2, false]);
    const all = await graph.explore('L', { entity: a, depth: 5 });
    expect(all.is_truncated).toBe(true);
    expect(JSON.stringify(all)).toMatch(/secret/);
    expect((await graph.explore('C', { entity: `${a} secret` })).paths).toStrictEqual([]);
    // The same for rows of a user, and for another project.
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000dd' };
    await graph.relate('C', { source: a, type: 'uses', target: `${a} users`, project_id }, user);
    await graph.relate('C', { source: a, type: 'uses', target: `${a} projects`, project_id: `${project_id}-other` });
    expect(await graph.explore('C', { entity: a, depth: 5 }, { 'jwt.claims.projects': project_id })).toStrictEqual(
      before,
    );
    expect(JSON.stringify(await graph.explore('C', { entity: a }, user))).toMatch(/users/);
  });

  it('bounds the work at a hub, returns the best first and reports the truncation', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'hub'].map(name) as [string, string];
    await draw(project_id, [[a, 'uses', b, 0.9]]);
    await hub(project_id, b, 10_000);
    const { paths, is_truncated, edges_followed } = await graph.explore('C', { entity: b, depth: 1, limit: 500 });
    expect(is_truncated).toBe(true);
    expect(edges_followed, `${edges_followed}`).toBeLessThanOrEqual(1_001);
    expect(paths.slice(0, 4).map((path) => path.entity)).toStrictEqual(
      [a, 1, 2, 3].map((n) => (typeof n === 'string' ? n : `${b} spoke ${n}`)),
    );
    const deep = await graph.explore('C', { entity: a, depth: 5, limit: 500 });
    expect(deep.is_truncated).toBe(true);
    expect(deep.edges_followed).toBeLessThanOrEqual(20_000);
    expect(deep.paths[0]!.entity).toBe(b);
  });

  it('reads both directions by index, under the agent’s policies', async () => {
    const { project_id, name } = newPlace();
    const [a, b] = ['a', 'big'].map(name) as [string, string];
    await draw(project_id, [[a, 'uses', b, 0.9]]);
    await hub(project_id, b, 4_000);
    for (const [column, index] of [
      ['source_normalized', 'entity_relationships_outgoing_idx'],
      ['target_normalized', 'entity_relationships_incoming_idx'],
    ]) {
      const rows = await db.sql(
        'C',
        `explain (costs off) select * from public.entity_relationships r
         where r.tenant_id = (select identity.current_tenant_id()) and r.${column} = $1 and r.scope = $2 and (r.ttl is null or r.ttl > now())
         order by r.confidence desc limit 100`,
        [b, 'developer'],
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(new RegExp(`Index Scan using ${index}`));
      expect(plan).toMatch(/Index Cond: \(.*tenant_id.*normalized.*scope/);
      expect(plan).not.toMatch(/Sort/);
    }
  });

  it('leaves one READ audit row, and fails in a read-only transaction', async () => {
    const { name } = newPlace();
    await graph.explore('C', { entity: name('audited') });
    const rows = await db.sql(
      'L',
      `select operation, details ->> 'edges_followed' as edges from public.audit_log
       where caller = 'C' and details ->> 'function' = 'explore_graph' order by audit_id desc limit 1`,
    );
    expect(rows[0]).toStrictEqual({ operation: 'READ', edges: '0' });
    await db.asCaller('C', async (client) => {
      await client.query('set transaction read only');
      await expect(client.query(`select public.explore_graph('x')`)).rejects.toMatchObject({ code: '25006' });
    });
  });
});
