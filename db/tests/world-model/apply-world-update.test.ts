// What an update changes, and how versions keep concurrent updates apart.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('apply_world_update', () => {
  const db = useTestDatabase();
  const { project, apply, world, state, versions, isFolded } = worldsOf(db);

  it.each(['C', 'L'])('keeps the spelling that %s gave first, however the name is spelled later', async (caller) => {
    const p = project();
    const { audience_id } = await apply(caller, p, [{ entity_id: 'L9', attributes: { a: 1 } }]);
    await apply(caller, p, [{ entity_id: ' l9', attributes: { b: 2 } }]);
    const { entities } = await world(caller, p);
    expect(entities).toMatchObject([{ entity_id: 'L9', attributes: { a: 1, b: 2 } }]);
    await isFolded(audience_id);
  });

  it('counts versions of the world and its entities, merges attributes and removes null ones', async () => {
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
    const byL = { creator: 'L-CTO', source: 'l9-kernel' };
    const setNext = { ...byL, packet_id: next.source_packet, is_from_admin: true };
    expect(entities).toStrictEqual([
      {
        entity_id: 'API',
        entity_type: 'service',
        attributes: { port: 443, tls: { by: 'x' } },
        confidence: 0.5,
        version: 2,
        source_packet: next.source_packet,
        ...byL,
        set_by: { port: setNext, tls: setNext },
      },
      {
        entity_id: 'db',
        entity_type: 'entity',
        attributes: {},
        confidence: 1,
        version: 1,
        source_packet: first.source_packet,
        creator: 'Cursor-IDE',
        source: 'cursor-ide',
        set_by: {},
      },
    ]);
    await apply('L', p, [{ entity_id: 'api', delete: true }]);
    expect(await state('C', p)).toStrictEqual({ db: {} });
    await apply('C', p, [{ entity_id: 'api', attributes: { port: 1 } }]);
    expect(await versions('C', p), 'an entity that comes back continues its versions').toStrictEqual({ api: 3, db: 1 });
    expect(await state('C', p, ', version => 2')).toStrictEqual({ API: { port: 443, tls: { by: 'x' } }, db: {} });
    expect(await state('C', p, ', version => 0')).toStrictEqual({});
    expect(await state('C', p, ", entity_ids => '{DB}'")).toStrictEqual({ db: {} });
    expect(await state('C', p, ", entity_type => 'service'")).toStrictEqual({});
    const cut = await world('C', p, ', max_entities => 1');
    expect([cut.entity_count, cut.entities.length]).toStrictEqual([2, 1]);
    await isFolded(first.audience_id);
  });

  it('saves a memory of kind insight, or uses the given memory and its world', async () => {
    const p = project();
    const own = await apply('C', p, [{ entity_id: 'a' }], { insight: { content: 'a was seen' } });
    const [memory] = await db.sql(
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

  it('rejects an outdated expected_version and names the current version', async () => {
    const p = project();
    await apply('C', p, [{ entity_id: 'a' }], { expected: 0 });
    await apply('C', p, [{ entity_id: 'a' }], { expected: 1 });
    for (const expected of [0, 1, 3])
      await expect(apply('C', p, [{ entity_id: 'a' }], { expected })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'expected_version',
        message: 'expected_version: the world is at version 2',
      });
    const [{ n }] = await db.sql(
      'C',
      "select count(*)::int as n from public.packet_store where project_id = $1 and packet_type = 'insight'",
      [p],
    );
    expect(n, 'a refused update leaves no memory behind').toBe(2);
  });

  it('lets one of 20 concurrent updates take a version, and loses none without expected_version', async () => {
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
});
