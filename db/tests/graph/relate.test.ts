import type pg from 'pg';
import { newPool } from '../support/migrations.ts';
import { itOnServer } from '../support/on-engine.ts';
import { sessionsOf } from '../support/sessions.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { graphOf, newPlace } from './support.ts';

describe('relate', () => {
  const db = useTestDatabase();
  const graph = graphOf(db);
  beforeAll(async () => {
    for (const caller of ['D', 'E']) await db.sql('L', 'select public.register_actor($1)', [caller]);
  });

  const place = () => {
    const { project_id, name } = newPlace();
    return { project_id, a: name('a'), b: name('b'), c: name('c') };
  };

  it('saves a memory of kind fact unless source_packet names a memory', async () => {
    const { project_id, a, b } = place();
    const stated = await graph.relate('C', { source: a, type: 'Depends On', target: b, project_id });
    expect(stated.relationship_type).toBe('depends_on');
    expect([stated.confidence, Number(stated.mention_count)]).toStrictEqual([0.8, 1]);
    const [memory] = await db.sql('C', 'select content, packet_type from public.packet_store where packet_id = $1', [
      stated.source_packet,
    ]);
    expect(memory).toStrictEqual({ content: `${a} depends on ${b}`, packet_type: 'fact' });

    const source_packet = await graph.save('C', { content: `Of ${a}`, project_id });
    const again = await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    expect([again.source_packet, again.project_id]).toStrictEqual([source_packet, project_id]);
  });

  it('raises the confidence with every agent, and the mentions with every statement, in any order', async () => {
    const { project_id, a, b, c } = place();
    const state = (caller: string, target: string, confidence: number) =>
      graph.relate(caller, { source: a, type: 'uses', target, project_id, confidence });
    for (const [caller, confidence] of [
      ['C', 0.5],
      ['D', 0.2],
      ['E', 0.4],
    ] as const)
      await state(caller, b, confidence);
    for (const [caller, confidence] of [
      ['E', 0.4],
      ['C', 0.5],
      ['D', 0.2],
    ] as const)
      await state(caller, c, confidence);
    const [first, second] = await graph.triples('C', a);
    expect(first!.confidence).toBe(0.76);
    expect(second!.confidence).toBe(0.76);
    expect([Number(first!.mention_count), first!.agent_count]).toStrictEqual([3, 3]);
    expect(first!.last_seen > first!.first_seen).toBe(true);
    for (let n = 0; n < 5; n++) await state('C', b, 0.5);
    const [repeated] = await graph.triples('C', a);
    expect([repeated!.confidence, Number(repeated!.mention_count), repeated!.agent_count]).toStrictEqual([0.76, 8, 3]);
    await state('C', b, 1);
    expect((await graph.triples('C', a)).map(({ confidence }) => confidence).sort()).toStrictEqual([0.76, 0.904]);
  });

  it.each(['C', 'L'])('keeps the spelling that %s gave first, however its names are spelled later', async (caller) => {
    const { project_id, name } = newPlace();
    const [source, target] = [name('Engine L9'), name('Café')];
    await graph.relate(caller, { source, type: 'stands on', target, project_id });
    for (const spell of [(s: string) => s.toLowerCase(), (s: string) => s.toUpperCase(), (s: string) => ` ${s}  `])
      await graph.relate(caller, { source: spell(source), type: 'stands on', target: spell(target), project_id });
    const [row] = await graph.triples(caller, source.toLowerCase());
    expect([row!.source_entity, row!.target_entity]).toStrictEqual([source, target]);
  });

  it('has the confidence, source and spelling that an administrator gave, whatever agents state', async () => {
    const { project_id, a, b } = place();
    const triple = { source: a, type: 'uses', target: b };
    const ofC = await graph.save('C', { content: `C of ${a}`, project_id });
    const ofL = await graph.save('L', { content: `L of ${a}`, project_id });
    await graph.relate('C', { ...triple, source: a.toUpperCase(), source_packet: ofC, confidence: 0.9 });
    await graph.relate('L', { ...triple, source_packet: ofL, confidence: 0.5 });
    const reading = async () => {
      const [row] = await graph.triples('C', a);
      return [row!.confidence, row!.source_packet, row!.source_entity, row!.creator, row!.is_from_admin];
    };
    const before = await reading();
    expect(before).toStrictEqual([0.5, ofL, a, 'L-CTO', true]);
    for (const caller of ['C', 'D']) await graph.relate(caller, { ...triple, project_id, confidence: 1 });
    expect(await reading()).toStrictEqual(before);
    await db.sql('C', 'select public.delete_memory($1)', [ofC]);
    expect(await reading()).toStrictEqual(before);
    await db.sql('L', 'select public.delete_memory($1)', [ofL]);
    expect((await reading())[0], 'now the word of agents counts').toBe(0.96);
  });

  it('keeps the memory of an agent from which an administrator states a relationship', async () => {
    const { project_id, a, b } = place();
    const source_packet = await graph.save('C', { content: `What C knows of ${a}`, project_id });
    await graph.relate('L', { source: a, type: 'uses', target: b, source_packet });
    await expect(db.sql('C', 'select public.delete_memory($1)', [source_packet])).rejects.toMatchObject({
      code: 'L9OWN',
    });
    await expect(
      db.sql('C', "select public.update_memory($1, content => 'the opposite')", [source_packet]),
    ).rejects.toMatchObject({ code: 'L9OWN' });
  });

  it('counts mentions of one relationship, however its names are written', async () => {
    const { project_id } = place();
    const first = await graph.relate('C', {
      source: 'Billing  API',
      type: 'uses',
      target: 'Ｐｏｓｔｇｒｅｓ',
      project_id,
    });
    const second = await graph.relate('C', { source: ' billing api ', type: 'USES', target: 'postgres', project_id });
    expect(second.relationship_id).toBe(first.relationship_id);
    expect(Number(second.mention_count)).toBe(2);
  });

  it('refuses a relationship without two entities, a type and a confidence in range', async () => {
    const { project_id, a, b } = place();
    const relate = (args: object) => graph.relate('C', { source: a, type: 'uses', target: b, project_id, ...args });
    await expect(relate({ target: ` ${a.toUpperCase()}` })).rejects.toMatchObject({ code: 'L9VAL', column: 'target' });
    await expect(relate({ source: ' ' })).rejects.toMatchObject({ code: 'L9VAL', column: 'source' });
    await expect(relate({ type: '' })).rejects.toMatchObject({ code: 'L9VAL', column: 'type' });
    await expect(relate({ type: 'x'.repeat(201) })).rejects.toMatchObject({ code: 'L9LIM', column: 'type' });
    await expect(relate({ target: 'x'.repeat(1001) })).rejects.toMatchObject({ code: 'L9LIM', column: 'target' });
    await expect(relate({ confidence: 1.1 })).rejects.toMatchObject({ code: 'L9VAL', column: 'confidence' });
    await expect(relate({ confidence: Number.NaN })).rejects.toMatchObject({ code: 'L9VAL', column: 'confidence' });
    expect(await graph.triples('C', a)).toStrictEqual([]);
  });

  it('counts separately in each scope, project, user and tenant', async () => {
    const { project_id, a, b } = place();
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000cc' };
    const tenant = await addTenant(db, 'graph-apart');
    const triple = { source: a, type: 'uses', target: b };
    await graph.relate('L', { ...triple, scope: 'l-private', project_id });
    await graph.relate('L', { ...triple, scope: 'l-private', project_id });
    await graph.relate('C', { ...triple, project_id }, user);
    await graph.relate('C', { ...triple, project_id }, tenant);
    await graph.relate('C', { ...triple, project_id: `${project_id}-other` });
    const mine = await graph.relate('C', { ...triple, project_id });
    expect([mine.confidence, Number(mine.mention_count)]).toStrictEqual([0.8, 1]);
    expect(
      (await graph.triples('C', a)).map((it) => [it.scope, it.project_id, Number(it.mention_count)]).sort(),
    ).toStrictEqual([
      ['developer', project_id, 1],
      ['developer', `${project_id}-other`, 1],
    ]);
    expect(await graph.triples('L', a)).toHaveLength(4);
    expect(await graph.triples('C', a, tenant)).toHaveLength(1);
    expect(await graph.triples('C', a, { 'jwt.claims.projects': project_id })).toHaveLength(1);
    expect(await graph.triples('C', a, { 'jwt.claims.scopes': 'global' })).toHaveLength(0);
  });

  it('recomputes a relationship when one of its memories is deleted, and deletes it with the last', async () => {
    const { project_id, a, b } = place();
    const upper = await graph.save('C', { content: `One of ${a}`, project_id });
    const plain = await graph.save('D', { content: `Two of ${a}`, project_id });
    await graph.relate('C', {
      source: a.toUpperCase(),
      type: 'uses',
      target: b,
      source_packet: upper,
      confidence: 0.5,
    });
    await graph.relate('C', {
      source: a.toUpperCase(),
      type: 'uses',
      target: b,
      source_packet: upper,
      confidence: 0.5,
    });
    const both = await graph.relate('D', { source: a, type: 'uses', target: b, source_packet: plain, confidence: 0.6 });
    expect([both.confidence, Number(both.mention_count)]).toStrictEqual([0.8, 3]);
    expect([both.source_packet, both.source_entity, both.creator]).toStrictEqual([
      upper,
      a.toUpperCase(),
      'Cursor-IDE',
    ]);

    await db.sql('C', 'select public.delete_memory($1)', [upper]);
    const [remaining] = await graph.triples('C', a);
    expect([remaining!.confidence, Number(remaining!.mention_count)]).toStrictEqual([0.6, 1]);
    expect([remaining!.source_packet, remaining!.source_entity, remaining!.creator]).toStrictEqual([plain, a, 'D']);
    expect(remaining!.relationship_id).toBe(both.relationship_id);

    await db.sql('L', `select public.erase_memory($1, 'a test')`, [plain]);
    expect(await graph.triples('L', a)).toStrictEqual([]);
  });

  it('deletes a relationship with all its memories in one statement', async () => {
    const { project_id, a, b } = place();
    for (const n of [1, 2, 3]) {
      const source_packet = await graph.save('C', { content: `${n} of ${a}`, project_id });
      await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    }
    await db.sql('C', 'delete from public.packet_store where project_id = $1', [project_id]);
    expect(await graph.triples('L', a)).toStrictEqual([]);
    const [{ n }] = await db.asSuperuser(
      'select count(*)::int as n from public.relationship_evidence where project_id = $1',
      [project_id],
    );
    expect(n).toBe(0);
  });

  it('moves evidence with its memory and joins the same relationship in the new scope', async () => {
    const { project_id, a, b } = place();
    const triple = { source: a, type: 'uses', target: b, confidence: 0.5 };
    const memories = [];
    for (const n of [1, 2])
      memories.push(await graph.save('L', { content: `${n} of ${a}`, project_id, scope: 'l-private' }));
    for (const source_packet of memories)
      await graph.relate('L', { ...triple, source: a.toUpperCase(), source_packet });
    const shared = await graph.relate('C', { ...triple, project_id, confidence: 0.4 });
    expect((await graph.triples('C', a)).map((it) => it.confidence)).toStrictEqual([0.4]);

    await db.sql('L', `select public.update_memory($1, scope => 'developer')`, [memories[0]]);
    const [joined] = await graph.triples('C', a);
    expect(joined!.relationship_id).toBe(shared.relationship_id);
    expect([joined!.confidence, Number(joined!.mention_count)]).toStrictEqual([0.5, 2]);
    // Of the memories that expire last, the oldest is the source.
    expect([joined!.source_packet, joined!.source_entity]).toStrictEqual([memories[0], a.toUpperCase()]);
    const [, remaining] = await graph.triples('L', a);
    expect([remaining!.scope, remaining!.confidence, remaining!.source_packet]).toStrictEqual([
      'l-private',
      0.5,
      memories[1],
    ]);

    await db.sql('L', `select public.update_memory($1, scope => 'l-private')`, [memories[0]]);
    expect((await graph.triples('C', a)).map((it) => it.confidence)).toStrictEqual([0.4]);
    expect((await graph.triples('L', a)).map((it) => it.confidence)).toStrictEqual([0.4, 0.5]);

    for (const packet of memories) await db.sql('L', `select public.update_memory($1, scope => 'global')`, [packet]);
    const all = await graph.triples('L', a);
    expect(all.map((it) => [it.scope, it.project_id, it.confidence])).toStrictEqual([
      ['developer', project_id, 0.4],
      ['global', null, 0.5],
    ]);
  });

  it('keeps a relationship as long as the memory that expires last', async () => {
    const { project_id, a, b } = place();
    const short = await graph.save('C', { content: `Short of ${a}`, project_id, ttl: new Date(Date.now() + 60_000) });
    const long = await graph.save('C', { content: `Long of ${a}`, project_id, ttl: new Date(Date.now() + 600_000) });
    const triple = { source: a, type: 'uses', target: b };
    expect((await graph.relate('C', { ...triple, source_packet: short })).source_packet).toBe(short);
    expect((await graph.relate('C', { ...triple, source_packet: long })).source_packet).toBe(long);
    await db.sql('C', `select public.update_memory($1, ttl => 'infinity')`, [short]);
    const [kept] = await graph.triples('C', a);
    expect([kept!.source_packet, kept!.ttl]).toStrictEqual([short, null]);
  });

  it('hides a relationship once all its memories have expired', async () => {
    const { project_id, a, b } = place();
    const source_packet = await graph.save('C', {
      content: `Soon gone of ${a}`,
      project_id,
      ttl: new Date(Date.now() + 1_500),
    });
    await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    await new Promise((resolve) => setTimeout(resolve, 1_550));
    expect(await graph.triples('C', a)).toStrictEqual([]);
    expect((await graph.explore('C', { entity: a })).paths).toStrictEqual([]);
    await db.sql('L', 'select public.delete_expired_memories()');
    const [{ n }] = await db.asSuperuser(
      'select count(*)::int as n from public.entity_relationships where project_id = $1',
      [project_id],
    );
    expect(n).toBe(0);
  });

  it('writes audit rows without the names of entities', async () => {
    const { project_id, a, b } = place();
    const { relationship_id } = await graph.relate('C', { source: a, type: 'uses', target: b, project_id });
    const rows = await db.sql('L', 'select operation, scope, details from public.audit_log where row_id = $1', [
      relationship_id,
    ]);
    expect(rows.map(({ operation, scope }) => [operation, scope])).toStrictEqual([['INSERT', 'developer']]);
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(a));
  });

  describe('without the right to', () => {
    it('refuses a hidden memory exactly like one that does not exist', async () => {
      const { project_id, a, b } = place();
      const secret = await graph.save('L', { content: `Secret of ${a}`, project_id, scope: 'l-private' });
      const errors = [];
      for (const source_packet of [secret, '01900000-0000-7000-8000-00000000dead']) {
        for (const text of [
          `select * from public.relate('${a}', 'uses', '${b}', source_packet => $1)`,
          `select * from graph.relate_from($1, '${a}', 'uses', '${b}')`,
          `select * from public.add_alias('${a}', '${b}', source_packet => $1)`,
          `select * from entities.add_alias_from($1, '${a}', '${b}')`,
        ]) {
          const error = await db.sql('C', text, [source_packet]).then(
            () => null,
            (it: pg.DatabaseError) => it,
          );
          errors.push(`${error?.code} ${error?.message.replaceAll(source_packet, 'ID')}`);
        }
      }
      expect(new Set(errors).size).toStrictEqual(1);
      expect(errors[0]!).toMatch(/^L9OWN/);
    });

    it('refuses a scope that the caller can only read, and callers without an identity', async () => {
      const { project_id, a, b } = place();
      const readable = await graph.save('C', { content: `Readable of ${a}`, project_id });
      await db.asSuperuser(`update public.actors set writable_scopes = '{global}' where caller = 'C'`);
      try {
        for (const text of [
          `select public.relate('${a}', 'uses', '${b}', source_packet => $1)`,
          `select graph.relate_from($1, '${a}', 'uses', '${b}')`,
          `select entities.add_alias_from($1, '${a}', '${b}')`,
        ])
          await expect(db.sql('C', text, [readable])).rejects.toMatchObject({ code: 'L9SCP', column: 'scope' });
      } finally {
        await db.asSuperuser(`update public.actors set writable_scopes = '{developer,global}' where caller = 'C'`);
      }
      await expect(
        graph.relate('C', { source: a, type: 'x', target: b }, { 'jwt.claims.caller': '' }),
      ).rejects.toMatchObject({ code: 'L9AUT' });
      await expect(
        db.sql('C', `select graph.relate_from($1, 'x', 'y', 'z')`, [readable], {
          'jwt.claims.caller': '',
        }),
      ).rejects.toMatchObject({ code: 'L9OWN' });
    });

    it('lets only its functions write, and ignores extracted_by from callers', async () => {
      const { project_id, a, b } = place();
      const source_packet = await graph.save('C', { content: `Of ${a}`, project_id });
      for (const table of ['entity_relationships', 'relationship_evidence', 'entity_aliases']) {
        for (const caller of ['C', 'L']) {
          await expect(db.sql(caller, `delete from public.${table}`)).rejects.toMatchObject({ code: '42501' });
          await expect(db.sql(caller, `update public.${table} set scope = 'global'`)).rejects.toMatchObject({
            code: '42501',
          });
          await expect(
            db.sql(caller, `insert into public.${table} (scope) values ('developer')`),
          ).rejects.toMatchObject({ code: '42501' });
        }
      }
      for (const text of ['recompute_relationships($1)', 'lock_relationships($1)'])
        await expect(db.sql('C', `select graph.${text}`, [[source_packet]])).rejects.toMatchObject({
          code: '42501',
        });
      await db.sql('C', `select graph.relate_from($1, '${a}', 'uses', '${b}', 0.5, 'a model')`, [source_packet]);
      const [evidence] = await db.sql(
        'C',
        'select extracted_by, creator from public.relationship_evidence where packet_id = $1',
        [source_packet],
      );
      expect(evidence).toStrictEqual({ extracted_by: null, creator: 'Cursor-IDE' });
    });
  });

  it('records the model of a relationship that a job extracted', async () => {
    const { project_id, a, b } = place();
    const source_packet = await graph.save('L', { content: `Of ${a}`, project_id, scope: 'l-private' });
    await db.asWorker(`select graph.relate_from($1, $2, 'uses', $3, 0.5, 'a model')`, [source_packet, a, b]);
    await db.asWorker('select entities.add_alias_from($1, $2, $3)', [source_packet, `${a}x`, a]);
    const rows = await db.sql(
      'L',
      'select extracted_by, creator, scope from public.relationship_evidence where packet_id = $1',
      [source_packet],
    );
    expect(rows).toStrictEqual([{ extracted_by: 'a model', creator: 'job', scope: 'l-private' }]);
    expect(await graph.triples('C', a)).toStrictEqual([]);
  });

  itOnServer('keeps one row when twenty connections state it concurrently', async () => {
    const { project_id, a, b, c } = place();
    const pool = newPool({ connectionString: db.gatewayUrl!, max: 20 });
    const { asCaller } = sessionsOf(pool, db.superuserUrl);
    try {
      const packets = await Promise.all(
        Array.from({ length: 10 }, (_, n) => graph.save('C', { content: `${n} at once of ${a}`, project_id })),
      );
      await Promise.all(
        Array.from({ length: 20 }, () =>
          asCaller('C', (client) =>
            client.query(`select public.relate($1, 'uses', $2, 0.1, project_id => $3)`, [a, b, project_id]),
          ),
        ),
      );
      // From many memories, some of which are deleted before or after they were named.
      const outcomes = await Promise.allSettled([
        ...packets.map((packet) =>
          asCaller('C', (client) =>
            client.query(`select public.relate($1, 'uses', $2, 0.1, source_packet => $3)`, [a, c, packet]),
          ),
        ),
        ...packets.slice(0, 5).map((packet, n) =>
          asCaller('C', async (client) => {
            await client.query('select pg_sleep($1)', [n * 0.005]);
            await client.query('select public.delete_memory($1)', [packet]);
          }),
        ),
      ]);
      // All deleted concurrently: each could be the next source of the relationship.
      const others = await Promise.all(
        Array.from({ length: 8 }, (_, n) => graph.save('C', { content: `${n} more at once of ${a}`, project_id })),
      );
      for (const packet of others)
        await graph.relate('C', { source: b, type: 'uses', target: c, source_packet: packet });
      outcomes.push(
        ...(await Promise.allSettled(
          others.map((packet) => asCaller('C', (client) => client.query('select public.delete_memory($1)', [packet]))),
        )),
      );
      expect(await graph.triples('L', b)).toStrictEqual([]);
      for (const it of outcomes) if (it.status === 'rejected') expect(it.reason.code).toBe('L9OWN');
    } finally {
      await pool.end();
    }
    const [first, second] = await graph.triples('C', a);
    expect(Number(first!.mention_count)).toBe(20);
    expect(first!.confidence).toBe(0.1);
    expect(Number(second!.mention_count)).toBeGreaterThanOrEqual(5);
    const [{ n, confidence }] = await db.asSuperuser(
      `select count(*)::int as n, max(confidence) as confidence
       from public.relationship_evidence where relationship_id = $1`,
      [second!.relationship_id],
    );
    expect([Number(second!.mention_count), second!.confidence]).toStrictEqual([n, confidence]);
  });
});
