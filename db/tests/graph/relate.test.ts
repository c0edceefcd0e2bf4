import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import { inTransaction } from '../../../gateway/src/database/index.ts';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { claimsOf } from '../../../gateway/tests/support/house.ts';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { graphOf, newPlace } from './support.ts';

describe('relations', () => {
  const house = houseOfSuite();
  const graph = graphOf(house);

  const place = () => {
    const { project_id, name } = newPlace();
    return { project_id, a: name('a'), b: name('b'), c: name('c') };
  };

  it('are memories of kind fact, or come from the memory that is named', async () => {
    const { project_id, a, b } = place();
    const stated = await graph.relate('C', { source: a, type: 'Depends On', target: b, project_id });
    assert.equal(stated.relationship_type, 'depends_on');
    assert.deepEqual([stated.confidence, Number(stated.mention_count)], [0.8, 1]);
    const [memory] = await house.sql('C', 'select content, packet_type from public.packet_store where packet_id = $1', [
      stated.source_packet,
    ]);
    assert.deepEqual(memory, { content: `${a} depends on ${b}`, packet_type: 'fact' });

    const source_packet = await graph.save('C', { content: `Of ${a}`, project_id });
    const again = await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    assert.deepEqual([again.source_packet, again.project_id], [source_packet, project_id]);
  });

  it('grow surer with every mention, within a bound, whatever the order', async () => {
    const { project_id, a, b, c } = place();
    for (const confidence of [0.5, 0.2, 0.4])
      await graph.relate('C', { source: a, type: 'uses', target: b, project_id, confidence });
    for (const confidence of [0.4, 0.5, 0.2])
      await graph.relate('C', { source: a, type: 'uses', target: c, project_id, confidence });
    const [one, other] = await graph.triples('C', a);
    assert.equal(one!.confidence, 0.76);
    assert.equal(other!.confidence, 0.76);
    assert.equal(Number(one!.mention_count), 3);
    assert.ok(one!.last_seen > one!.first_seen);
    for (let n = 0; n < 40; n++)
      await graph.relate('C', { source: a, type: 'uses', target: b, project_id, confidence: 1 });
    const [bounded] = await graph.triples('C', a);
    assert.deepEqual([bounded!.confidence, Number(bounded!.mention_count)], [0.99, 43]);
  });

  it('are one, however their names are written', async () => {
    const { project_id } = place();
    const first = await graph.relate('C', {
      source: 'Billing  API',
      type: 'uses',
      target: 'Ｐｏｓｔｇｒｅｓ',
      project_id,
    });
    const second = await graph.relate('C', { source: ' billing api ', type: 'USES', target: 'postgres', project_id });
    assert.equal(second.relationship_id, first.relationship_id);
    assert.equal(Number(second.mention_count), 2);
  });

  it('are refused without two entities, a type and a confidence in range', async () => {
    const { project_id, a, b } = place();
    const relate = (args: object) => graph.relate('C', { source: a, type: 'uses', target: b, project_id, ...args });
    await assert.rejects(relate({ target: ` ${a.toUpperCase()}` }), { code: 'L9VAL', column: 'target' });
    await assert.rejects(relate({ source: ' ' }), { code: 'L9VAL', column: 'source' });
    await assert.rejects(relate({ type: '' }), { code: 'L9VAL', column: 'type' });
    await assert.rejects(relate({ type: 'x'.repeat(201) }), { code: 'L9LIM', column: 'type' });
    await assert.rejects(relate({ target: 'x'.repeat(1001) }), { code: 'L9LIM', column: 'target' });
    await assert.rejects(relate({ confidence: 1.1 }), { code: 'L9VAL', column: 'confidence' });
    await assert.rejects(relate({ confidence: Number.NaN }), { code: 'L9VAL', column: 'confidence' });
    assert.deepEqual(await graph.triples('C', a), []);
  });

  it('are kept apart by scope, project, user and tenant, and counted in each alone', async () => {
    const { project_id, a, b } = place();
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000cc' };
    const tenant = await addTenant(house, 'graph-apart');
    const triple = { source: a, type: 'uses', target: b };
    await graph.relate('L', { ...triple, scope: 'l-private', project_id });
    await graph.relate('L', { ...triple, scope: 'l-private', project_id });
    await graph.relate('C', { ...triple, project_id }, user);
    await graph.relate('C', { ...triple, project_id }, tenant);
    await graph.relate('C', { ...triple, project_id: `${project_id}-other` });
    const mine = await graph.relate('C', { ...triple, project_id });
    assert.deepEqual([mine.confidence, Number(mine.mention_count)], [0.8, 1]);
    assert.deepEqual(
      (await graph.triples('C', a)).map((it) => [it.scope, it.project_id, Number(it.mention_count)]).sort(),
      [
        ['developer', project_id, 1],
        ['developer', `${project_id}-other`, 1],
      ],
    );
    assert.equal((await graph.triples('L', a)).length, 4);
    assert.equal((await graph.triples('C', a, tenant)).length, 1);
    assert.equal((await graph.triples('C', a, { 'jwt.claims.projects': project_id })).length, 1);
    assert.equal((await graph.triples('C', a, { 'jwt.claims.scopes': 'global' })).length, 0);
  });

  it('are worked out again when a memory that states them goes', async () => {
    const { project_id, a, b } = place();
    const shout = await graph.save('C', { content: `One of ${a}`, project_id });
    const plain = await graph.save('L', { content: `Two of ${a}`, project_id });
    await graph.relate('C', {
      source: a.toUpperCase(),
      type: 'uses',
      target: b,
      source_packet: shout,
      confidence: 0.5,
    });
    await graph.relate('C', {
      source: a.toUpperCase(),
      type: 'uses',
      target: b,
      source_packet: shout,
      confidence: 0.5,
    });
    const both = await graph.relate('L', { source: a, type: 'uses', target: b, source_packet: plain, confidence: 0.6 });
    assert.deepEqual([both.confidence, Number(both.mention_count)], [0.9, 3]);
    assert.deepEqual([both.source_packet, both.source_entity, both.creator], [shout, a.toUpperCase(), 'Cursor-IDE']);

    await house.sql('C', 'select public.delete_memory($1)', [shout]);
    const [left] = await graph.triples('C', a);
    assert.deepEqual([left!.confidence, Number(left!.mention_count)], [0.6, 1]);
    assert.deepEqual([left!.source_packet, left!.source_entity, left!.creator], [plain, a, 'L-CTO']);
    assert.equal(left!.relationship_id, both.relationship_id);

    await house.sql('L', `select public.erase_memory($1, 'a test')`, [plain]);
    assert.deepEqual(await graph.triples('L', a), []);
  });

  it('go all at once with all their memories', async () => {
    const { project_id, a, b } = place();
    for (const n of [1, 2, 3]) {
      const source_packet = await graph.save('C', { content: `${n} of ${a}`, project_id });
      await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    }
    await house.sql('C', 'delete from public.packet_store where project_id = $1', [project_id]);
    assert.deepEqual(await graph.triples('L', a), []);
    const [{ n }] = await house.asSuperuser(
      'select count(*)::int as n from public.relationship_evidence where project_id = $1',
      [project_id],
    );
    assert.equal(n, 0);
  });

  it('move where their memory moves, and join what is stated there', async () => {
    const { project_id, a, b } = place();
    const triple = { source: a, type: 'uses', target: b, confidence: 0.5 };
    const memories = [];
    for (const n of [1, 2])
      memories.push(await graph.save('L', { content: `${n} of ${a}`, project_id, scope: 'l-private' }));
    for (const source_packet of memories)
      await graph.relate('L', { ...triple, source: a.toUpperCase(), source_packet });
    const shared = await graph.relate('C', { ...triple, project_id, confidence: 0.4 });
    assert.deepEqual(
      (await graph.triples('C', a)).map((it) => it.confidence),
      [0.4],
    );

    await house.sql('L', `select public.update_memory($1, scope => 'developer')`, [memories[0]]);
    const [joined] = await graph.triples('C', a);
    assert.equal(joined!.relationship_id, shared.relationship_id);
    assert.deepEqual([joined!.confidence, Number(joined!.mention_count)], [0.7, 2]);
    // The first that stated it, and lasts as long.
    assert.deepEqual([joined!.source_packet, joined!.source_entity], [memories[0], a.toUpperCase()]);
    const [, left] = await graph.triples('L', a);
    assert.deepEqual([left!.scope, left!.confidence, left!.source_packet], ['l-private', 0.5, memories[1]]);

    await house.sql('L', `select public.update_memory($1, scope => 'l-private')`, [memories[0]]);
    assert.deepEqual(
      (await graph.triples('C', a)).map((it) => it.confidence),
      [0.4],
    );
    assert.deepEqual(
      (await graph.triples('L', a)).map((it) => it.confidence),
      [0.4, 0.75],
    );

    for (const packet of memories) await house.sql('L', `select public.update_memory($1, scope => 'global')`, [packet]);
    const all = await graph.triples('L', a);
    assert.deepEqual(
      all.map((it) => [it.scope, it.project_id, it.confidence]),
      [
        ['developer', project_id, 0.4],
        ['global', null, 0.75],
      ],
    );
  });

  it('last as long as the memory that lasts longest', async () => {
    const { project_id, a, b } = place();
    const short = await graph.save('C', { content: `Short of ${a}`, project_id, ttl: new Date(Date.now() + 60_000) });
    const long = await graph.save('C', { content: `Long of ${a}`, project_id, ttl: new Date(Date.now() + 600_000) });
    const triple = { source: a, type: 'uses', target: b };
    assert.equal((await graph.relate('C', { ...triple, source_packet: short })).source_packet, short);
    assert.equal((await graph.relate('C', { ...triple, source_packet: long })).source_packet, long);
    await house.sql('C', `select public.update_memory($1, ttl => 'infinity')`, [short]);
    const [kept] = await graph.triples('C', a);
    assert.deepEqual([kept!.source_packet, kept!.ttl], [short, null]);
  });

  it('expire with their memories', async () => {
    const { project_id, a, b } = place();
    const source_packet = await graph.save('C', {
      content: `Soon gone of ${a}`,
      project_id,
      ttl: new Date(Date.now() + 1_500),
    });
    await graph.relate('C', { source: a, type: 'uses', target: b, source_packet });
    await new Promise((resolve) => setTimeout(resolve, 1_550));
    assert.deepEqual(await graph.triples('C', a), []);
    assert.deepEqual((await graph.explore('C', { entity: a })).paths, []);
    await house.sql('L', 'select public.delete_expired_memories()');
    const [{ n }] = await house.asSuperuser(
      'select count(*)::int as n from public.entity_relationships where project_id = $1',
      [project_id],
    );
    assert.equal(n, 0);
  });

  it('leave their audit rows, without the names', async () => {
    const { project_id, a, b } = place();
    const { relationship_id } = await graph.relate('C', { source: a, type: 'uses', target: b, project_id });
    const rows = await house.sql('L', 'select operation, scope, details from public.audit_log where row_id = $1', [
      relationship_id,
    ]);
    assert.deepEqual(
      rows.map(({ operation, scope }) => [operation, scope]),
      [['INSERT', 'developer']],
    );
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(a));
  });

  describe('as somebody tries who may not', () => {
    it('can’t be stated from a memory that is not visible, which looks as one that is not there', async () => {
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
          const error = await house.sql('C', text, [source_packet]).then(
            () => null,
            (it: pg.DatabaseError) => it,
          );
          errors.push(`${error?.code} ${error?.message.replaceAll(source_packet, 'ID')}`);
        }
      }
      assert.deepEqual(new Set(errors).size, 1);
      assert.match(errors[0]!, /^L9OWN/);
    });

    it('can’t be stated where the caller may only read, nor without an identity', async () => {
      const { project_id, a, b } = place();
      const readable = await graph.save('C', { content: `Readable of ${a}`, project_id });
      await house.asSuperuser(`update public.actors set writable_scopes = '{global}' where caller = 'C'`);
      try {
        for (const text of [
          `select public.relate('${a}', 'uses', '${b}', source_packet => $1)`,
          `select graph.relate_from($1, '${a}', 'uses', '${b}')`,
          `select entities.add_alias_from($1, '${a}', '${b}')`,
        ])
          await assert.rejects(house.sql('C', text, [readable]), { code: 'L9SCP', column: 'scope' });
      } finally {
        await house.asSuperuser(`update public.actors set writable_scopes = '{developer,global}' where caller = 'C'`);
      }
      await assert.rejects(graph.relate('C', { source: a, type: 'x', target: b }, { 'jwt.claims.caller': '' }), {
        code: 'L9AUT',
      });
      await assert.rejects(
        house.sql('C', `select graph.relate_from($1, 'x', 'y', 'z')`, [readable], {
          'jwt.claims.caller': '',
        }),
        { code: 'L9OWN' },
      );
    });

    it('are written by functions only, and these take no word for who extracted them', async () => {
      const { project_id, a, b } = place();
      const source_packet = await graph.save('C', { content: `Of ${a}`, project_id });
      for (const table of ['entity_relationships', 'relationship_evidence', 'entity_aliases']) {
        for (const caller of ['C', 'L']) {
          await assert.rejects(house.sql(caller, `delete from public.${table}`), { code: '42501' });
          await assert.rejects(house.sql(caller, `update public.${table} set scope = 'global'`), {
            code: '42501',
          });
          await assert.rejects(house.sql(caller, `insert into public.${table} (scope) values ('developer')`), {
            code: '42501',
          });
        }
      }
      for (const text of ['recompute_relationships($1)', 'lock_relationships($1)'])
        await assert.rejects(house.sql('C', `select graph.${text}`, [[source_packet]]), { code: '42501' });
      await house.sql('C', `select graph.relate_from($1, '${a}', 'uses', '${b}', 0.5, 'a model')`, [source_packet]);
      const [evidence] = await house.sql(
        'C',
        'select extracted_by, creator from public.relationship_evidence where packet_id = $1',
        [source_packet],
      );
      assert.deepEqual(evidence, { extracted_by: null, creator: 'Cursor-IDE' });
    });
  });

  it('are stated by jobs too, which say who extracted them', async () => {
    const { project_id, a, b } = place();
    const source_packet = await graph.save('L', { content: `Of ${a}`, project_id, scope: 'l-private' });
    await house.gateway.database.workerPool.query(`select graph.relate_from($1, $2, 'uses', $3, 0.5, 'a model')`, [
      source_packet,
      a,
      b,
    ]);
    await house.gateway.database.workerPool.query('select entities.add_alias_from($1, $2, $3)', [
      source_packet,
      `${a}x`,
      a,
    ]);
    const rows = await house.sql(
      'L',
      'select extracted_by, creator, scope from public.relationship_evidence where packet_id = $1',
      [source_packet],
    );
    assert.deepEqual(rows, [{ extracted_by: 'a model', creator: 'job', scope: 'l-private' }]);
    assert.deepEqual(await graph.triples('C', a), []);
  });

  it('are one row after twenty connections stated them at once', { skip: engine !== 'server' }, async () => {
    const { project_id, a, b, c } = place();
    const pool = new pg.Pool({ connectionString: house.home.env.DATABASE_URL!, max: 20 });
    try {
      const packets = await Promise.all(
        Array.from({ length: 10 }, (_, n) => graph.save('C', { content: `${n} at once of ${a}`, project_id })),
      );
      await Promise.all(
        Array.from({ length: 20 }, () =>
          inTransaction(pool, claimsOf('C'), (client) =>
            client.query(`select public.relate($1, 'uses', $2, 0.1, project_id => $3)`, [a, b, project_id]),
          ),
        ),
      );
      // From many memories, some of which go meanwhile: before they were stated, or after.
      const done = await Promise.allSettled([
        ...packets.map((packet) =>
          inTransaction(pool, claimsOf('C'), (client) =>
            client.query(`select public.relate($1, 'uses', $2, 0.1, source_packet => $3)`, [a, c, packet]),
          ),
        ),
        ...packets.slice(0, 5).map((packet, n) =>
          inTransaction(pool, claimsOf('C'), async (client) => {
            await client.query('select pg_sleep($1)', [n * 0.005]);
            await client.query('select public.delete_memory($1)', [packet]);
          }),
        ),
      ]);
      // All at once: each is what the relation would be worked out from next.
      const others = await Promise.all(
        Array.from({ length: 8 }, (_, n) => graph.save('C', { content: `${n} more at once of ${a}`, project_id })),
      );
      for (const packet of others)
        await graph.relate('C', { source: b, type: 'uses', target: c, source_packet: packet });
      done.push(
        ...(await Promise.allSettled(
          others.map((packet) =>
            inTransaction(pool, claimsOf('C'), (client) => client.query('select public.delete_memory($1)', [packet])),
          ),
        )),
      );
      assert.deepEqual(await graph.triples('L', b), []);
      for (const it of done) if (it.status === 'rejected') assert.equal(it.reason.code, 'L9OWN');
    } finally {
      await pool.end();
    }
    const [one, other] = await graph.triples('C', a);
    assert.equal(Number(one!.mention_count), 20);
    assert.equal(one!.confidence, Math.round((1 - 0.9 ** 20) * 1e9) / 1e9);
    assert.ok(Number(other!.mention_count) >= 5);
    const [{ n, confidence }] = await house.asSuperuser(
      `select count(*)::int as n, entities.noisy_or(array_agg(confidence)) as confidence
       from public.relationship_evidence where relationship_id = $1`,
      [other!.relationship_id],
    );
    assert.deepEqual([Number(other!.mention_count), other!.confidence], [n, confidence]);
  });
});
