// Insights that are refused.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('an insight', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { project, apply, world } = worldsOf(db);

  it('names the field of an insight that is malformed or too large', async () => {
    const p = project();
    const bad = async (insight: unknown, code: string, field: string) =>
      expect(
        db.sql('C', 'select public.apply_world_update($1, project_id => $2)', [JSON.stringify(insight), p]),
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
  });
});
