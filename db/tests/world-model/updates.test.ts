// What an update does to the world, and which are refused.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { embedder } from '../events/words.ts';
import { worldsOf } from './support.ts';

describe('an update of the world', () => {
  const house = houseOfSuite({ embedder });
  const { project, apply, world, state, versions, isFolded } = worldsOf(house);

  it('counts versions of the world and of each entity, merges attributes, and takes away what is null', async () => {
    const p = project();
    const first = await apply('C', p, [
      { entity_id: 'api', entity_type: 'service', attributes: { port: 80, owner: 'ann', tls: { on: true } } },
      { entity_id: 'db' },
    ]);
    assert.deepEqual([first.state_version_before, first.state_version_after], [0, 1]);
    const next = await apply('L', p, [
      { entity_id: ' API ', attributes: { port: 443, owner: null, tls: { by: 'x' } }, confidence: 0.5 },
    ]);
    assert.deepEqual([next.state_version_before, next.state_version_after], [1, 2]);
    const { entities, ...rest } = await world('C', p);
    assert.deepEqual(rest, {
      audience_id: first.audience_id,
      scope: 'developer',
      project_id: p,
      version: 2,
      entity_count: 2,
    });
    const plain = entities.map(({ source_packet: _, ...entity }: { source_packet: string }) => entity);
    assert.deepEqual(plain, [
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
    assert.deepEqual(await state('C', p), { db: {} });
    await apply('C', p, [{ entity_id: 'api', attributes: { port: 1 } }]);
    assert.deepEqual(await versions('C', p), { api: 3, db: 1 }, 'what comes back goes on counting');
    assert.deepEqual(await state('C', p, ', version => 2'), { API: { port: 443, tls: { by: 'x' } }, db: {} });
    assert.deepEqual(await state('C', p, ', version => 0'), {});
    assert.deepEqual(await state('C', p, ", entity_ids => '{DB}'"), { db: {} });
    assert.deepEqual(await state('C', p, ", entity_type => 'service'"), {});
    const cut = await world('C', p, ', max_entities => 1');
    assert.deepEqual([cut.entity_count, cut.entities.length], [2, 1]);
    await isFolded(first.audience_id);
  });

  it('saves a memory of kind insight, or comes from the one given, in whose world it is', async () => {
    const p = project();
    const own = await apply('C', p, [{ entity_id: 'a' }], { insight: { content: 'a was seen' } });
    const [memory] = await house.sql(
      'C',
      'select packet_type, content, scope from public.packet_store where packet_id = $1',
      [own.source_packet],
    );
    assert.deepEqual(memory, { packet_type: 'insight', content: 'a was seen', scope: 'developer' });
    const given = await apply('C', 'elsewhere', [{ entity_id: 'b' }], { packet: own.source_packet, scope: 'global' });
    assert.deepEqual([given.audience_id, given.source_packet], [own.audience_id, own.source_packet]);
    await assert.rejects(apply('C', p, [], { insight: { content: undefined } }), {
      code: 'L9VAL',
      column: 'insight.content',
    });
  });

  it('refuses another version than is expected, and names the present one', async () => {
    const p = project();
    await apply('C', p, [{ entity_id: 'a' }], { expected: 0 });
    await apply('C', p, [{ entity_id: 'a' }], { expected: 1 });
    for (const expected of [0, 1, 3])
      await assert.rejects(apply('C', p, [{ entity_id: 'a' }], { expected }), {
        code: 'L9VAL',
        column: 'expected_version',
        message: 'expected_version: the world is at version 2',
      });
    const [{ n }] = await house.sql(
      'C',
      "select count(*)::int as n from public.packet_store where project_id = $1 and packet_type = 'insight'",
      [p],
    );
    assert.equal(n, 2, 'what was refused left no memory behind');
  });

  it('lets exactly one of 20 at once win each version, and loses none that expect nothing', async () => {
    const p = project();
    for (let version = 0; version < 3; version++) {
      const answers = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          apply('C', p, [{ entity_id: 'x', attributes: { [`v${version}k${i}`]: i } }], { expected: version }),
        ),
      );
      assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const answer of answers)
        if (answer.status === 'rejected') assert.match(answer.reason.message, new RegExp(`at version ${version + 1}$`));
    }
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        apply(i % 2 ? 'C' : 'L', p, [{ entity_id: 'x', attributes: { [`n${i}`]: i } }]),
      ),
    );
    assert.deepEqual(
      all.map((it) => it.state_version_after).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => i + 4),
    );
    const { entities } = await world('C', p);
    assert.equal(entities[0].version, 23);
    assert.equal(Object.keys(entities[0].attributes).length, 23);
    await isFolded(all[0]!.audience_id);
  });

  it('refuses what is malformed or too much, naming the field', async () => {
    const p = project();
    const bad = async (insight: unknown, code: string, field: string) =>
      assert.rejects(
        house.sql('C', 'select public.apply_world_update($1, project_id => $2)', [JSON.stringify(insight), p]),
        { code, column: field },
        JSON.stringify(insight).slice(0, 100),
      );
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
    await assert.rejects(apply('C', p, [{ entity_id: 'a', attributes: { b: 'x'.repeat(40000) } }]), {
      code: 'L9LIM',
      column: 'insight.entities.attributes',
    });
    assert.equal((await world('C', p)).version, 1);
    for (const call of [
      'diff_world(null)',
      "diff_world('x')",
      'get_world_model(max_entities => 0)',
      'get_world_model(version => -1)',
      "snapshot_world(repeat('x', 1001))",
      "restore_world('x')",
      'restore_world(null)',
    ])
      await assert.rejects(
        house.sql('C', `select public.${call}`),
        (error: { code: string }) => /^L9(VAL|LIM)$/.test(error.code),
        call,
      );
  });
});
