// What an update does to the world, and which are refused.
import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { embedder } from '../events/words.ts';
import { worldsOf } from './support.ts';

describe('an update of the world', () => {
  const gateway = useTestGateway({ embedder });
  const { project, apply, world, state, versions, isFolded } = worldsOf(gateway);

  it('counts versions of the world and of each entity, merges attributes, and takes away what is null', async () => {
    const p = project();
    const first = await apply('C', p, [
      { entity_id: 'api', entity_type: 'service', attributes: { port: 80, owner: 'ann', tls: { on: true } } },
      { entity_id: 'db' },
    ]);
    expect([first.state_version_before, first.state_version_after]).toStrictEqual([0, 1]);
    const next = await apply('L', p, [
      { entity_id: ' API ', attributes: { port: 443, owner: null, tls: { by: 'x' } }, confidence: 0.5 },
    ]);
    expect([next.state_version_before, next.state_version_after]).toStrictEqual([1, 2]);
    const { entities, ...rest } = await world('C', p);
    expect(rest).toStrictEqual({
      audience_id: first.audience_id,
      scope: 'developer',
      project_id: p,
      version: 2,
      entity_count: 2,
    });
    const plain = entities.map(({ source_packet: _, ...entity }: { source_packet: string }) => entity);
    expect(plain).toStrictEqual([
      {
        entity_id: 'API',
        entity_type: 'service',
        attributes: { port: 443, tls: { by: 'x' } },
        confidence: 0.5,
        version: 2,
      },
      { entity_id: 'db', entity_type: 'entity', attributes: {}, confidence: 1, version: 1 },
    ]);
    await apply('C', p, [{ entity_id: 'api', delete: true }]);
    expect(await state('C', p)).toStrictEqual({ db: {} });
    await apply('C', p, [{ entity_id: 'api', attributes: { port: 1 } }]);
    expect(await versions('C', p), 'what comes back goes on counting').toStrictEqual({ api: 3, db: 1 });
    expect(await state('C', p, ', version => 2')).toStrictEqual({ API: { port: 443, tls: { by: 'x' } }, db: {} });
    expect(await state('C', p, ', version => 0')).toStrictEqual({});
    expect(await state('C', p, ", entity_ids => '{DB}'")).toStrictEqual({ db: {} });
    expect(await state('C', p, ", entity_type => 'service'")).toStrictEqual({});
    const cut = await world('C', p, ', max_entities => 1');
    expect([cut.entity_count, cut.entities.length]).toStrictEqual([2, 1]);
    await isFolded(first.audience_id);
  });

  it('saves a memory of kind insight, or comes from the one given, in whose world it is', async () => {
    const p = project();
    const own = await apply('C', p, [{ entity_id: 'a' }], { insight: { content: 'a was seen' } });
    const [memory] = await gateway.sql(
      'C',
      'select packet_type, content, scope from public.packet_store where packet_id = $1',
      [own.source_packet],
    );
    expect(memory).toStrictEqual({ packet_type: 'insight', content: 'a was seen', scope: 'developer' });
    const given = await apply('C', 'elsewhere', [{ entity_id: 'b' }], { packet: own.source_packet, scope: 'global' });
    expect([given.audience_id, given.source_packet]).toStrictEqual([own.audience_id, own.source_packet]);
    await expect(apply('C', p, [], { insight: { content: undefined } })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'insight.content',
    });
  });

  it('refuses another version than is expected, and names the present one', async () => {
    const p = project();
    await apply('C', p, [{ entity_id: 'a' }], { expected: 0 });
    await apply('C', p, [{ entity_id: 'a' }], { expected: 1 });
    for (const expected of [0, 1, 3])
      await expect(apply('C', p, [{ entity_id: 'a' }], { expected })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'expected_version',
        message: 'expected_version: the world is at version 2',
      });
    const [{ n }] = await gateway.sql(
      'C',
      "select count(*)::int as n from public.packet_store where project_id = $1 and packet_type = 'insight'",
      [p],
    );
    expect(n, 'what was refused left no memory behind').toBe(2);
  });

  it('lets exactly one of 20 at once win each version, and loses none that expect nothing', async () => {
    const p = project();
    for (let version = 0; version < 3; version++) {
      const answers = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          apply('C', p, [{ entity_id: 'x', attributes: { [`v${version}k${i}`]: i } }], { expected: version }),
        ),
      );
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const answer of answers)
        if (answer.status === 'rejected')
          expect(answer.reason.message).toMatch(new RegExp(`at version ${version + 1}$`));
    }
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        apply(i % 2 ? 'C' : 'L', p, [{ entity_id: 'x', attributes: { [`n${i}`]: i } }]),
      ),
    );
    expect(all.map((it) => it.state_version_after).sort((a, b) => a - b)).toStrictEqual(
      Array.from({ length: 20 }, (_, i) => i + 4),
    );
    const { entities } = await world('C', p);
    expect(entities[0].version).toBe(23);
    expect(Object.keys(entities[0].attributes)).toHaveLength(23);
    await isFolded(all[0]!.audience_id);
  });

  it('refuses what is malformed or too much, naming the field', async () => {
    const p = project();
    const bad = async (insight: unknown, code: string, field: string) =>
      expect(
        gateway.sql('C', 'select public.apply_world_update($1, project_id => $2)', [JSON.stringify(insight), p]),
        JSON.stringify(insight).slice(0, 100),
      ).rejects.toMatchObject({ code, column: field });
    const it = (more: object) => ({ insight_type: 'x', content: 'c', ...more });
    const entity = (more: object) => it({ entities: [{ entity_id: 'a', ...more }] });
    await bad([], 'L9VAL', 'insight');
    await bad(it({ other: 1 }), 'L9VAL', 'insight');
    await bad({ content: 'c' }, 'L9VAL', 'insight.insight_type');
    await bad({ insight_type: 'restore', content: 'c' }, 'L9VAL', 'insight.insight_type');
    await bad(it({ content: 7 }), 'L9VAL', 'insight.content');
    await bad(it({ content: 'x'.repeat(65537) }), 'L9LIM', 'insight.content');
    await bad(it({ content: 'x', insight_id: 'y' }), 'L9VAL', 'insight.insight_id');
    await bad(it({ confidence: 2 }), 'L9VAL', 'insight.confidence');
    await bad(it({ entities: {} }), 'L9VAL', 'insight.entities');
    await bad(it({ entities: ['a'] }), 'L9VAL', 'insight.entities');
    await bad(it({ entities: [{}] }), 'L9VAL', 'insight.entities');
    await bad(it({ entities: [{ entity_id: 'a' }, { entity_id: ' A ' }] }), 'L9VAL', 'insight.entities');
    await bad(
      it({ entities: Array.from({ length: 201 }, (_, i) => ({ entity_id: `e${i}` })) }),
      'L9LIM',
      'insight.entities',
    );
    await bad(entity({ atributes: {} }), 'L9VAL', 'insight.entities');
    await bad(entity({ attributes: [] }), 'L9VAL', 'insight.entities.attributes');
    await bad(entity({ attributes: { a: 'x'.repeat(66000) } }), 'L9LIM', 'insight.entities.attributes');
    await bad(entity({ confidence: -1 }), 'L9VAL', 'insight.entities.confidence');
    await bad(entity({ delete: 'yes' }), 'L9VAL', 'insight.entities.delete');
    await bad(it({ entities: [{ entity_id: 'x'.repeat(1001) }] }), 'L9LIM', 'insight.entities.entity_id');
    await bad(it({ entities: [{ entity_id: ' ' }] }), 'L9VAL', 'insight.entities.entity_id');
    await bad(
      it({
        entities: Array.from({ length: 5 }, (_, i) => ({ entity_id: `e${i}`, attributes: { a: 'x'.repeat(60000) } })),
      }),
      'L9LIM',
      'insight',
    );
    await apply('C', p, [{ entity_id: 'a', attributes: { a: 'x'.repeat(40000) } }]);
    await expect(apply('C', p, [{ entity_id: 'a', attributes: { b: 'x'.repeat(40000) } }])).rejects.toMatchObject({
      code: 'L9LIM',
      column: 'insight.entities.attributes',
    });
    expect((await world('C', p)).version).toBe(1);
    for (const call of [
      'diff_world(null)',
      "diff_world('x')",
      'get_world_model(max_entities => 0)',
      'get_world_model(version => -1)',
      "snapshot_world(repeat('x', 1001))",
      "restore_world('x')",
      'restore_world(null)',
    ])
      await expect(gateway.sql('C', `select public.${call}`), call).rejects.toMatchObject({
        code: expect.stringMatching(/^L9(VAL|LIM)$/),
      });
  });
});
