import { grepDatabase } from '../support/dump.ts';
import { saveMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { fact, factsOf, isPending, setSettings, store } from './support.ts';

describe('store_extraction', () => {
  const db = useTestDatabase();
  let acme: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
    await setSettings(db, { is_enabled: true, kinds: ['note'] });
  });

  it('replaces the previous extraction, keeps facts of callers and skips retracted ones', async () => {
    const packet = await saveMemory(db, 'C', { content: 'The mast is oak and tall.' });
    const first = { facts: [fact('mast', 'oak'), fact('mast', 'tall')], relations: [] };
    expect(await store(db, packet, first)).toStrictEqual({ is_stored: true, facts: 2, relations: 0, dropped: 0 });
    expect(await isPending(db, packet)).toBe(false);
    await db.sql('C', "select public.assert_fact('mast', 'is', '\"high\"', source_packet => $1)", [packet]);
    const [tall] = await db.sql('C', "select fact_id from public.find_facts('mast') where object = '\"tall\"'");
    await db.sql('L', 'select public.retract_fact($1)', [tall.fact_id]);
    await store(
      db,
      packet,
      { ...first, relations: [{ source: 'mast', type: 'part of', target: 'ship', confidence: 0.5 }] },
      'another',
    );
    const high = { subject: 'mast', object: 'high', scope: 'developer', is_retracted: false, extracted_by: null };
    expect(await factsOf(db, packet)).toStrictEqual([
      high,
      { ...high, object: 'oak', extracted_by: 'another' },
      { ...high, object: 'tall', is_retracted: true, extracted_by: 'a-model' },
    ]);
    // A new text deletes the extraction of the old one at once, whether or not it is read again.
    await db.sql('C', "select public.update_memory($1, content => 'The mast is gone.')", [packet]);
    expect((await factsOf(db, packet)).filter(({ is_retracted }) => !is_retracted)).toStrictEqual([high]);
    const relations = await db.asSuperuser('select from public.relationship_evidence where packet_id = $1', [packet]);
    expect(relations).toHaveLength(0);
    expect(await isPending(db, packet)).toBe(true);
  });

  it('stores nothing if the memory or the settings changed while the model answered', async () => {
    const packet = await saveMemory(db, 'C', { content: 'The keel is iron.' });
    const answer = { facts: [fact('keel', 'iron')] };
    const nothing = { is_stored: false, facts: 0, relations: 0, dropped: 0 };
    const stale = Buffer.alloc(32);
    const [row] = await db.asWorker('select * from extraction.store_extraction($1, $2, $3, $4)', [
      packet,
      stale,
      answer,
      'm',
    ]);
    expect(row).toStrictEqual(nothing);
    expect(await isPending(db, packet)).toBe(true);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [packet]);
    expect(await store(db, packet, answer)).toStrictEqual(nothing);
    await db.sql('L', "select public.update_memory($1, scope => 'developer')", [packet]);
    await setSettings(db, { is_enabled: false });
    expect(await store(db, packet, answer)).toStrictEqual(nothing);
    await setSettings(db, { is_enabled: true });
    expect(await factsOf(db, packet)).toStrictEqual([]);
    expect((await store(db, packet, answer)).facts).toBe(1);
  });

  it('takes only names, values and confidences from an answer', async () => {
    const victim = await saveMemory(db, 'L', { content: 'the vault', scope: 'l-private' });
    const packet = await saveMemory(db, 'C', { content: 'The lamp is red.' });
    const foreign = {
      scope: 'l-private',
      tenant_id: acme['jwt.claims.tenant_id'],
      packet_id: victim,
      source_packet: victim,
    };
    const outcome = await store(db, packet, {
      ...foreign,
      facts: [
        { ...fact('lamp', 'red'), ...foreign },
        'no object',
        null,
        [1],
        { ...fact('lamp', 'x'), confidence: '1' },
        { ...fact('lamp', 'y'), subject: { $ne: 1 } },
        { ...fact('lamp', ' ') },
      ],
      relations: 'all',
      entities: { name: 'lamp' },
    });
    expect(outcome).toStrictEqual({ is_stored: true, facts: 1, relations: 0, dropped: 6 });
    expect(await factsOf(db, packet)).toStrictEqual([
      { subject: 'lamp', object: 'red', scope: 'developer', is_retracted: false, extracted_by: 'a-model' },
    ]);
    expect(await factsOf(db, victim)).toStrictEqual([]);
  });

  it('leaves nothing behind when the memory is erased', async () => {
    const packet = await saveMemory(db, 'C', { content: 'The zyxwv is a qponm.' });
    await store(db, packet, {
      entities: [{ name: 'zyxwv', type: 'qponm', confidence: 0.5 }],
      facts: [fact('zyxwv', 'qponm')],
      relations: [{ source: 'zyxwv', type: 'is', target: 'qponm', confidence: 0.5 }],
    });
    await db.sql('L', "select public.erase_memory($1, 'asked to')", [packet]);
    const remaining = await db.inSuperuserSession((client) => grepDatabase(client, ['zyxwv', 'qponm']));
    expect(remaining).toStrictEqual({});
  });
});
