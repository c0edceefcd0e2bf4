// Lessons: told once, reinforced by whoever tells them again, and never a hint of what its reader may not see.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { named } from '../../../gateway/tests/support/named.ts';
import { addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

const REFLECT = `select r.status, (r.reflection).*, public.reflection_store_content(r.reflection) as content from public.reflect`;

describe('reflections', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const reflect = async (caller: string, args: Record<string, unknown>, claims = {}) => {
    const given = Object.fromEntries(
      Object.entries({ project_id: 'l9', ...args }).filter(([, value]) => value !== null),
    );
    const [row] = await house.sql(caller, `${REFLECT}(${named(given)}) r`, Object.values(given), claims);
    return row;
  };
  const rows = (caller: string, condition = 'true', values: unknown[] = []) =>
    house.sql(caller, `select * from public.reflection_store where ${condition}`, values);

  it('are memories of their kind, with what is particular beside them', async () => {
    const told = await reflect('L', {
      content: 'Vacuum the queue table before the nightly import.',
      context: 'The import stalled on dead rows.',
      entities: ['Queue  Table', 'queue table', 'IMPORT'],
      tags: ['postgres'],
      priority: 'high',
      confidence: 0.8,
    });
    assert.equal(told.status, 'inserted');
    assert.deepEqual(
      [told.reflection_type, told.priority, told.confidence, told.times_seen, told.creator, told.source_agent],
      ['lesson', 'high', 0.8, 1, 'L-CTO', 'l-cto'],
    );
    assert.deepEqual(told.entities, ['queue table', 'import']);
    const [memory] = await house.sql(
      'C',
      `select p.packet_type, p.tags, p.importance_score, public.reflection_store_tags(r) as own
       from public.packet_store p join public.reflection_store r on r.source_packet = p.packet_id where r.reflection_id = $1`,
      [told.reflection_id],
    );
    assert.deepEqual(memory, {
      packet_type: 'reflection',
      tags: ['postgres'],
      importance_score: 0.7,
      own: ['postgres'],
    });
    const audited = await house.sql('L', 'select operation, details from public.audit_log where row_id = $1', [
      told.reflection_id,
    ]);
    assert.deepEqual(
      audited.map(({ operation }) => operation),
      ['INSERT'],
    );
    assert.ok(!JSON.stringify(audited).includes('stalled'), 'no contents in the audit');
  });

  it('are reinforced by whoever tells them again, in the same or nearly the same words', async () => {
    const first = await reflect('L', {
      content: 'Run the smoke tests before each release of the gateway.',
      confidence: 0.5,
    });
    const again = await reflect('C', {
      content: '  run the SMOKE tests before each release of the gateway. ',
      confidence: 0.5,
      priority: 'critical',
      context: 'not what L said',
    });
    assert.equal(again.status, 'reinforced');
    assert.equal(again.reflection_id, first.reflection_id);
    assert.deepEqual(
      [again.confidence, again.times_seen, again.priority, again.creator, again.context],
      [0.75, 2, 'critical', 'L-CTO', null],
    );
    const near = await reflect('C', {
      content: 'Run smoke tests before every release of the gateway',
      priority: 'low',
    });
    assert.deepEqual([near.status, near.reflection_id], ['reinforced', first.reflection_id]);
    assert.equal(near.priority, 'critical');
    assert.equal(near.content, 'Run the smoke tests before each release of the gateway.');
    for (let i = 0; i < 6; i++)
      await reflect('C', { content: 'Run the smoke tests before each release of the gateway.', confidence: 1 });
    const [row] = await rows('C', 'reflection_id = $1', [first.reflection_id]);
    assert.equal(row.confidence, 0.99);
    assert.equal(row.times_seen, 9);
    // Another number is another lesson.
    const other = await reflect('C', { content: 'Run 2 smoke tests before each release of the gateway.' });
    assert.equal(other.status, 'inserted');
  });

  it('tell a success from a failure in the same words, and a false constraint from a lesson', async () => {
    const text = 'Retrying the webhook with backoff.';
    const lesson = await reflect('C', { content: text, type: 'success' });
    await assert.rejects(reflect('C', { content: text, type: 'failure' }), { code: 'L9VAL', column: 'content' });
    const near = await reflect('C', { content: 'Retrying the webhook with some backoff', type: 'false_constraint' });
    assert.equal(near.status, 'inserted');
    const insight = await reflect('C', { content: 'Backoff needs jitter, always.', type: 'insight' });
    const pattern = await reflect('L', { content: 'backoff needs jitter, always.', type: 'pattern' });
    assert.deepEqual([pattern.status, pattern.reflection_id], ['reinforced', insight.reflection_id]);
    assert.equal(pattern.reflection_type, 'insight');
    const [row] = await rows('C', 'reflection_id = $1', [lesson.reflection_id]);
    assert.equal(row.times_seen, 1);
  });

  it('of a private room are not touched by who repeats them elsewhere, nor learned of', async () => {
    const text = 'The acquisition closes when the audit of Heron Ltd is signed.';
    const secret = await reflect('L', { content: text, scope: 'l-private', confidence: 0.6 });
    const ofC = await reflect('C', { content: text, confidence: 0.6 });
    assert.equal(ofC.status, 'inserted');
    assert.notEqual(ofC.reflection_id, secret.reflection_id);
    assert.equal(ofC.confidence, 0.6);
    const [untouched] = await rows('L', 'reflection_id = $1', [secret.reflection_id]);
    assert.deepEqual([untouched.times_seen, untouched.confidence], [1, 0.6]);
    assert.deepEqual(
      await rows('C', 'reflection_id = $1 or source_packet = $2', [secret.reflection_id, secret.source_packet]),
      [],
    );
    assert.deepEqual(await rows('C', "scope = 'l-private'"), []);
    await assert.rejects(reflect('C', { content: 'mine', scope: 'l-private' }), { code: 'L9SCP' });
    // The function that stores, called by itself: what is hidden and what is not there are one.
    const store = (id: string) =>
      house.sql('C', "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'critical')", [id]);
    const of = (message: string, id: string) => message.replaceAll(id, 'ID');
    const nowhere = '01900000-0000-7000-8000-000000000001';
    const hidden = await store(secret.source_packet).then(
      () => assert.fail('not refused'),
      (error) => error,
    );
    const missing = await store(nowhere).then(
      () => assert.fail('not refused'),
      (error) => error,
    );
    assert.equal(hidden.code, 'L9OWN');
    assert.equal(of(hidden.message, secret.source_packet), of(missing.message, nowhere));
    for (const id of [secret.source_packet, nowhere])
      await assert.rejects(reflect('C', { content: 'it rests on nothing', learned_from: [id] }), {
        code: 'L9VAL',
        column: 'learned_from',
        message: 'learned_from: at least one of these memories was not found',
      });
  });

  it('can be written by functions only, for memories of their kind', async () => {
    for (const statement of [
      "insert into public.reflection_store (source_packet, reflection_type) values (uuidv7(), 'lesson')",
      'update public.reflection_store set confidence = 0',
      'delete from public.reflection_store',
    ]) {
      await assert.rejects(house.sql('C', statement), { code: '42501' });
      await assert.rejects(house.sql('L', statement), { code: '42501' });
    }
    const { result } = await house.tool('C', 'save_memory', { content: 'a note, no lesson', project_id: 'l9' });
    await assert.rejects(
      house.sql('C', "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'low')", [
        result.memory.packet_id,
      ]),
      { code: 'L9VAL' },
    );
  });

  it('say what is wrong with them', async () => {
    for (const [args, field] of [
      [{ type: 'rumour' }, 'type'],
      [{ priority: 'urgent' }, 'priority'],
      [{ confidence: 1.5 }, 'confidence'],
      [{ confidence: Number.NaN }, 'confidence'],
      [{ entities: [' '] }, 'entities'],
      [{ expires_at: '2020-01-01' }, 'expires_at'],
      [{ content: ' ' }, 'content'],
    ] as const) {
      await assert.rejects(reflect('C', { content: 'x', ...args }), { code: 'L9VAL', column: field });
    }
    for (const [args, field] of [
      [{ context: 'x'.repeat(9000) }, 'context'],
      [{ entities: Array(65).fill('x') }, 'entities'],
    ] as const) {
      await assert.rejects(reflect('C', { content: 'x', ...args }), { code: 'L9LIM', column: field });
    }
  });

  it('follow their memory to another scope and go with it', async () => {
    const told = await reflect('L', { content: 'Kestrel builds need the old linker.' });
    assert.equal((await rows('C', 'reflection_id = $1', [told.reflection_id])).length, 1);
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [told.source_packet]);
    assert.equal((await rows('C', 'reflection_id = $1', [told.reflection_id])).length, 0);
    assert.equal((await rows('L', 'reflection_id = $1', [told.reflection_id]))[0].scope, 'l-private');
    await house.sql('L', "select public.erase_memory($1, 'a test')", [told.source_packet]);
    assert.equal((await rows('L', 'reflection_id = $1', [told.reflection_id])).length, 0);
  });

  it('expire with their memory, and are kept as long as whoever wrote it means them to be', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const told = await reflect('C', { content: 'The staging proxy is down this afternoon.', expires_at: soon });
    assert.equal(told.expires_at.toISOString(), soon);
    await reflect('C', { content: 'The staging proxy is down this afternoon.' });
    const [kept] = await rows('C', 'reflection_id = $1', [told.reflection_id]);
    assert.equal(kept.expires_at, null);
    await house.sql('C', 'select public.update_memory($1, ttl => $2)', [told.source_packet, soon]);
    await house.asSuperuser(
      "update public.reflection_store set ttl = now() - interval '1 minute' where reflection_id = $1",
      [told.reflection_id],
    );
    assert.deepEqual(await rows('C', 'reflection_id = $1', [told.reflection_id]), []);
  });

  it('go with the last memory that they were learned from', async () => {
    const ids: string[] = [];
    for (const content of ['The cache of March was too small.', 'The cache of April was too small.']) {
      const [{ id }] = await house.sql(
        'C',
        "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9')",
        [content],
      );
      ids.push(id);
    }
    const told = await reflect('C', { content: 'Twice the cache is enough.', learned_from: ids, project_id: 'l9' });
    const left = async () => (await rows('L', 'reflection_id = $1', [told.reflection_id])).length;
    await house.sql('L', "select public.erase_memory($1, 'a test')", [ids[0]]);
    assert.equal(await left(), 1);
    const [gone] = await house.sql('L', "select (public.erase_memory($1, 'a test')).memories", [ids[1]]);
    assert.deepEqual([gone.memories, await left()], [2, 0]);
  });

  it('never cross tenants', async () => {
    const claims = await addTenant(house, 'another');
    const text = 'Tenants never learn from each other.';
    const first = await reflect('C', { content: text });
    const other = await reflect('C', { content: text }, claims);
    assert.equal(other.status, 'inserted');
    const seen = await house.sql('L', 'select reflection_id from public.reflection_store', [], claims);
    assert.deepEqual(seen, [{ reflection_id: other.reflection_id }]);
    await assert.rejects(
      house.sql(
        'L',
        "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'low')",
        [first.source_packet],
        claims,
      ),
      { code: 'L9OWN' },
    );
  });

  it('told by many at once are one', { skip: engine === 'embedded' && 'one connection' }, async () => {
    const words = ['each', 'every', 'each and every', 'each'];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        reflect(i % 2 ? 'C' : 'L', {
          content: `Pin the base image of ${words[i % 4]} container to a digest`,
          confidence: 0.2,
          project_id: 'many',
        }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 'inserted').length, 1);
    const [row, ...more] = await rows('L', "project_id = 'many'");
    assert.equal(more.length, 0);
    assert.equal(row.times_seen, 12);
    assert.ok(Math.abs(row.confidence - (1 - 0.8 ** 12)) < 1e-9);
  });
});
