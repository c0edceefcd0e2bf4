// Whose word a lesson is: an agent counts once, and what others attested of a text falls with the text.
import { useTestDatabase } from '../support/test-database.ts';
import { reflectionsOf } from './support.ts';

describe('a lesson that agents attest', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { reflect, rows } = reflectionsOf(db);
  const numbers = async (id: string) => {
    const [row] = await rows('L', 'reflection_id = $1', [id]);
    return [row.confidence, row.priority, row.times_seen, row.agent_count];
  };
  const text = 'Rotate the signing key every spring.';
  const change = (caller: string, packet: string, content: string) =>
    db.sql(caller, 'select public.update_memory($1, content => $2)', [packet, content]);

  beforeAll(() => db.sql('L', "select public.register_actor('D')"));

  it('counts an agent once, however often it repeats a lesson', async () => {
    const first = await reflect('C', { content: text, priority: 'low', confidence: 0.6 });
    for (let n = 0; n < 8; n++) await reflect('C', { content: text, priority: 'low', confidence: 0.6 });
    expect(await numbers(first.reflection_id)).toStrictEqual([0.6, 'low', 9, 1]);
    await reflect('L', { content: text, priority: 'high', confidence: 0.5 });
    expect(await numbers(first.reflection_id), 'the word of an administrator').toStrictEqual([0.5, 'high', 10, 2]);
    for (let n = 0; n < 3; n++) await reflect('L', { content: text, priority: 'low', confidence: 0.1 });
    expect(await numbers(first.reflection_id), 'its strongest word stays').toStrictEqual([0.5, 'high', 13, 2]);
    await reflect('D', { content: text, priority: 'critical', confidence: 0.9 });
    expect(await numbers(first.reflection_id)).toStrictEqual([0.5, 'high', 14, 3]);
  });

  it('starts again from the writer when the writer says something else', async () => {
    const first = await reflect('C', { content: text, priority: 'low', confidence: 0.6 });
    for (let n = 0; n < 3; n++) await reflect('D', { content: text, priority: 'critical', confidence: 0.9 });
    expect(await numbers(first.reflection_id), 'no more than an agent may give').toStrictEqual([0.88, 'medium', 4, 2]);
    await change('C', first.source_packet, 'Never rotate the signing key.');
    expect(await numbers(first.reflection_id)).toStrictEqual([0.6, 'low', 1, 1]);
    const [audited] = await db.sql(
      'L',
      `select operation, details from public.audit_log where row_id = $1 order by audit_id desc limit 1`,
      [first.reflection_id],
    );
    expect(audited.operation).toBe('UPDATE');
  });

  it('takes the word of whoever changed the text, and no other', async () => {
    const first = await reflect('C', { content: text, priority: 'low', confidence: 0.2 });
    await change('L', first.source_packet, 'Rotate the signing key every autumn.');
    expect(await numbers(first.reflection_id), 'the defaults of reflect()').toStrictEqual([0.7, 'medium', 1, 1]);
  });

  it('keeps attestations when only case, tags or importance change', async () => {
    const first = await reflect('C', { content: text, priority: 'low', confidence: 0.5 });
    await reflect('D', { content: text, priority: 'high', confidence: 0.5 });
    await change('C', first.source_packet, text.toUpperCase());
    await db.sql('C', "select public.update_memory($1, tags => '{keys}', importance => 0.2)", [first.source_packet]);
    expect(await numbers(first.reflection_id)).toStrictEqual([0.75, 'medium', 2, 2]);
  });

  it('gives an administrator a lesson of its own beside similar words of an agent', async () => {
    const ofC = await reflect('C', { content: 'Run migrate before each deployment of the gateway.' });
    const ofL = await reflect('L', { content: 'Run migrate after each deployment of the gateway.', context: 'by L' });
    expect([ofL.status, ofL.creator, ofL.context]).toStrictEqual(['inserted', 'L-CTO', 'by L']);
    expect(ofL.reflection_id).not.toBe(ofC.reflection_id);
    const again = await reflect('C', { content: 'Run migrate after every deployment of the gateway' });
    expect([again.status, again.reflection_id], 'an agent supports it').toStrictEqual([
      'reinforced',
      ofL.reflection_id,
    ]);
  });

  it('puts neither context nor entities of another agent under the words of the writer', async () => {
    const [{ packet_id }] = await db.sql(
      'L',
      `select ((public.save_memory('Only L decides on releases.', project_id => 'l9', kind => 'reflection')).memory).packet_id`,
    );
    const ofC = await reflect('C', { content: 'Only L decides on releases.', context: 'not so', entities: ['C'] });
    expect([ofC.source_packet, ofC.context, ofC.entities]).toStrictEqual([packet_id, null, []]);
  });
});
