// Facts that change the world model of their readers, and what takes them out of it again.

import { setSettings, store } from '../extraction/support.ts';
import { assertFact, registerPredicate, retractFact } from '../facts/support.ts';
import { expireMemories, saveMemory } from '../support/memories.ts';
import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('a fact in the world model', () => {
  const db = useTestDatabase();
  const { apply, project, state, world, remove } = worldsOf(db);
  beforeAll(async () => {
    for (const predicate of ['is led by', 'port']) await registerPredicate(db, predicate);
  });

  const assert = (caller: string, value: string, project_id: string, args: object = {}) =>
    assertFact(db, caller, ['Billing', 'is led by', value], { project_id, into_world: true, ...args });
  const takesFacts = (value: boolean, caller = 'L', claims = {}) =>
    db.sql(caller, 'select takes_facts from public.set_world_model_settings($1)', [value], claims);
  const led = (name: string) => ({ Billing: { 'is led by': name } });

  it('becomes an attribute of its subject, with the memory that states it', async () => {
    const p = project();
    const fact = await assert('C', 'Ann', p);
    expect(await state('C', p)).toStrictEqual(led('Ann'));
    const [entity] = (await world('C', p)).entities;
    expect([entity.entity_id, entity.source_packet, entity.confidence]).toStrictEqual([
      'Billing',
      fact.source_packet,
      fact.confidence,
    ]);
    const [update] = await db.sql(
      'C',
      'select fact_id, insight_type from public.world_model_updates where source_packet = $1',
      [fact.source_packet],
    );
    expect(update).toStrictEqual({ fact_id: fact.fact_id, insight_type: 'fact' });
  });

  it('stays out of it unless it is meant for it, or if it has several values', async () => {
    const p = project();
    await assert('C', 'Ann', p, { into_world: false });
    await assertFact(db, 'C', ['Billing', 'likes', 'tea'], { project_id: p, into_world: true });
    expect(await state('C', p)).toStrictEqual({});
    // Asked for later, a known fact gets in.
    await assert('C', 'Ann', p);
    expect(await state('C', p)).toStrictEqual(led('Ann'));
    await assert('C', 'Ann', p);
    expect((await world('C', p)).version, 'what the world has is not brought in again').toBe(1);
  });

  it('gives an entity its type', async () => {
    const p = project();
    await assertFact(db, 'C', ['Billing', 'is a', 'service'], { project_id: p, into_world: true });
    expect((await world('C', p)).entities).toMatchObject([
      { entity_id: 'Billing', entity_type: 'service', attributes: {} },
    ]);
  });

  it('follows contradictions, also by facts that were not meant for the world, and retractions', async () => {
    const p = project();
    await assert('C', 'Ann', p);
    const bob = await assert('C', 'Bob', p, { into_world: false });
    expect(await state('C', p)).toStrictEqual(led('Bob'));
    await assert('C', 'Zoe', p, { valid_from: '2020-01-01T00:00:00Z' });
    expect(await state('C', p), 'history does not replace what holds').toStrictEqual(led('Bob'));
    await retractFact(db, 'C', bob.fact_id);
    expect(await state('C', p)).toStrictEqual(led('Ann'));
  });

  it('leaves the attributes that insights set', async () => {
    const p = project();
    await apply('C', p, [{ entity_id: 'billing', attributes: { region: 'eu', 'is led by': 'nobody' } }]);
    const fact = await assert('C', 'Ann', p);
    expect(await state('C', p)).toStrictEqual({ billing: { region: 'eu', 'is led by': 'Ann' } });
    await remove('C', fact.source_packet);
    expect(await state('C', p)).toStrictEqual({ billing: { region: 'eu', 'is led by': 'nobody' } });
  });

  const removals: Record<string, (id: string) => Promise<unknown>> = {
    deleted: (id) => remove('C', id),
    'erased by an admin': (id) => db.sql('L', "select public.erase_memory($1, 'a test')", [id]),
    'erased by an operator': async (id) =>
      db.sql('P', "select public.erase_memory($1, 'a test')", [id], await addOperator(db, 'P')),
    'cleaned up': async (id) => {
      await expireMemories(db, [id]);
      await db.asWorker('select * from memories.delete_expired_batch()');
    },
  };
  it.each(Object.keys(removals))('goes with the last memory that states it when that is %s', async (how) => {
    const p = project();
    const [first, second] = [
      await saveMemory(db, 'C', { content: `${p} one`, project_id: p }),
      await saveMemory(db, 'C', { content: `${p} two`, project_id: p }),
    ];
    for (const source_packet of [first, second])
      await assertFact(db, 'C', ['Billing', 'is led by', 'Ann'], { source_packet, into_world: true });
    await removals[how]!(first);
    expect(await state('C', p)).toStrictEqual(led('Ann'));
    expect((await world('C', p)).entities[0].source_packet).toBe(second);
    await removals[how]!(second);
    expect(await state('C', p)).toStrictEqual({});
  });

  it('moves with its memory, and shows nothing to those who may not read that', async () => {
    const p = project();
    const memory = await saveMemory(db, 'L', { content: `${p} moving`, project_id: p });
    await assertFact(db, 'L', ['Billing', 'is led by', 'Ann'], { source_packet: memory, into_world: true });
    const stays = await saveMemory(db, 'L', { content: `${p} staying`, project_id: p });
    await assertFact(db, 'L', ['Billing', 'port', 443], { source_packet: stays, into_world: true });
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [memory]);
    expect(await state('C', p)).toStrictEqual({ Billing: { port: 443 } });
    expect(await state('L', p, '', 'l-private')).toStrictEqual(led('Ann'));
    expect(
      await db.sql('C', 'select 1 from public.world_model_updates where source_packet = $1', [memory]),
    ).toStrictEqual([]);
    await db.sql('L', "select public.update_memory($1, scope => 'developer')", [memory]);
    expect(await state('C', p)).toStrictEqual({ Billing: { port: 443, 'is led by': 'Ann' } });
    expect(await state('L', p, '', 'l-private')).toStrictEqual({});
  });

  it('moves out of a fact that other memories state as well', async () => {
    const p = project();
    const [first, second] = [
      await saveMemory(db, 'L', { content: `${p} one`, project_id: p }),
      await saveMemory(db, 'L', { content: `${p} two`, project_id: p }),
    ];
    for (const source_packet of [first, second])
      await assertFact(db, 'L', ['Billing', 'is led by', 'Ann'], { source_packet, into_world: true });
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [first]);
    expect(await state('C', p)).toStrictEqual(led('Ann'));
    expect((await world('C', p)).entities[0].source_packet).toBe(second);
    expect(await state('L', p, '', 'l-private')).toStrictEqual(led('Ann'));
  });

  it('comes from extractions without being asked for, and goes with a new text', async () => {
    await setSettings(db, { is_enabled: true, kinds: ['note'] });
    const p = project();
    const packet = await saveMemory(db, 'C', { content: 'Billing, a service, is led by Ann.', project_id: p });
    await store(db, packet, {
      entities: [{ name: 'Billing', type: 'service', confidence: 0.7 }],
      facts: [
        { subject: 'Billing', predicate: 'is led by', object: 'Ann', confidence: 0.7 },
        { subject: 'Billing', predicate: 'likes', object: 'tea', confidence: 0.7 },
      ],
      relations: [],
    });
    const of = async () => (await world('C', p)).entities;
    expect(await of()).toMatchObject([
      { entity_id: 'Billing', entity_type: 'service', attributes: { 'is led by': 'Ann' }, source_packet: packet },
    ]);
    await db.sql('C', "select public.update_memory($1, content => 'Billing is gone.')", [packet]);
    expect(await of()).toStrictEqual([]);
    await setSettings(db, { is_enabled: false });
  });

  it('stays out of it where the tenant wants that', async () => {
    const p = project();
    await assert('C', 'Ann', p);
    expect(await takesFacts(false)).toStrictEqual([{ takes_facts: false }]);
    try {
      await expect(assert('C', 'Bob', p)).rejects.toMatchObject({ code: 'L9VAL', column: 'into_world' });
      const bob = await assert('C', 'Bob', p, { into_world: false });
      expect(await state('C', p)).toStrictEqual(led('Ann'));
      await retractFact(db, 'C', bob.fact_id);
      const [ann] = await db.sql(
        'C',
        'select fact_id from public.knowledge_facts where project_id = $1 and object = \'"Ann"\'',
        [p],
      );
      await retractFact(db, 'C', ann.fact_id);
      expect(await state('C', p), 'a retraction is followed nevertheless').toStrictEqual({});
    } finally {
      await takesFacts(true);
    }
    await expect(takesFacts(false, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(takesFacts(false, 'L', { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    const [row] = await db.asSuperuser(
      "select details -> 'row' ->> 'takes_facts' as value from public.audit_log where table_name = 'world_model_settings' order by audit_id desc limit 1",
    );
    expect(row.value).toBe('true');
  });
});
