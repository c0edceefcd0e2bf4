// Lessons: saved once, reinforced when saved again, and never a hint of a lesson that the caller may not read.
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { reflectionsOf } from './support.ts';

describe('reflect', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { reflect, rows } = reflectionsOf(db);

  it('saves a memory of kind reflection with the columns that only lessons have', async () => {
    const saved = await reflect('L', {
      content: 'Vacuum the queue table before the nightly import.',
      context: 'The import stalled on dead rows.',
      entities: ['Queue  Table', 'queue table', 'IMPORT'],
      tags: ['postgres'],
      priority: 'high',
      confidence: 0.8,
    });
    expect(saved.status).toBe('inserted');
    expect([
      saved.reflection_type,
      saved.priority,
      saved.confidence,
      saved.times_seen,
      saved.creator,
      saved.source_agent,
    ]).toStrictEqual(['lesson', 'high', 0.8, 1, 'L-CTO', 'l-cto']);
    expect(saved.entities, 'each once, as it was spelled first').toStrictEqual(['Queue Table', 'IMPORT']);
    const [memory] = await db.sql(
      'C',
      `select p.packet_type, p.tags, p.importance_score, public.reflection_store_tags(r) as own
       from public.packet_store p join public.reflection_store r on r.source_packet = p.packet_id where r.reflection_id = $1`,
      [saved.reflection_id],
    );
    expect(memory).toStrictEqual({
      packet_type: 'reflection',
      tags: ['postgres'],
      importance_score: 0.7,
      own: ['postgres'],
    });
    const audited = await db.sql('L', 'select operation, details from public.audit_log where row_id = $1', [
      saved.reflection_id,
    ]);
    expect(audited.map(({ operation }) => operation)).toStrictEqual(['INSERT']);
    expect(JSON.stringify(audited), 'no contents in the audit').not.toContain('stalled');
  });

  it("reinforces a lesson that is saved again in the same or nearly the same words, in an administrator's own numbers", async () => {
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
    expect(again.status).toBe('reinforced');
    expect(again.reflection_id).toBe(first.reflection_id);
    expect([again.confidence, again.times_seen, again.priority, again.creator, again.context]).toStrictEqual([
      0.5,
      2,
      'medium',
      'L-CTO',
      null,
    ]);
    const near = await reflect('C', {
      content: 'Run smoke tests before every release of the gateway',
      priority: 'low',
    });
    expect([near.status, near.reflection_id]).toStrictEqual(['reinforced', first.reflection_id]);
    expect(near.priority).toBe('medium');
    expect(near.content).toBe('Run the smoke tests before each release of the gateway.');
    const row = async () => (await rows('C', 'reflection_id = $1', [first.reflection_id]))[0];
    expect([near.times_seen, near.agent_count]).toStrictEqual([3, 2]);
    expect((await row()).confidence, 'the word of the administrator').toBe(0.5);
    // A text with another number is another lesson.
    const other = await reflect('C', { content: 'Run 2 smoke tests before each release of the gateway.' });
    expect(other.status).toBe('inserted');
  });

  it('keeps successes, failures and false constraints with similar words apart', async () => {
    const text = 'Retrying the webhook with backoff.';
    const lesson = await reflect('C', { content: text, type: 'success' });
    await expect(reflect('C', { content: text, type: 'failure' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'content',
    });
    const near = await reflect('C', { content: 'Retrying the webhook with some backoff', type: 'false_constraint' });
    expect(near.status).toBe('inserted');
    const insight = await reflect('C', { content: 'Backoff needs jitter, always.', type: 'insight' });
    const pattern = await reflect('L', { content: 'backoff needs jitter, always.', type: 'pattern' });
    expect([pattern.status, pattern.reflection_id]).toStrictEqual(['reinforced', insight.reflection_id]);
    expect(pattern.reflection_type).toBe('insight');
    const [row] = await rows('C', 'reflection_id = $1', [lesson.reflection_id]);
    expect(row.times_seen).toBe(1);
  });

  it('neither reinforces nor reveals a private lesson when others save the same words', async () => {
    const text = 'The acquisition closes when the audit of Heron Ltd is signed.';
    const secret = await reflect('L', { content: text, scope: 'l-private', confidence: 0.6 });
    const ofC = await reflect('C', { content: text, confidence: 0.6 });
    expect(ofC.status).toBe('inserted');
    expect(ofC.reflection_id).not.toBe(secret.reflection_id);
    expect(ofC.confidence).toBe(0.6);
    const [untouched] = await rows('L', 'reflection_id = $1', [secret.reflection_id]);
    expect([untouched.times_seen, untouched.confidence]).toStrictEqual([1, 0.6]);
    expect(
      await rows('C', 'reflection_id = $1 or source_packet = $2', [secret.reflection_id, secret.source_packet]),
    ).toStrictEqual([]);
    expect(await rows('C', "scope = 'l-private'")).toStrictEqual([]);
    await expect(reflect('C', { content: 'mine', scope: 'l-private' })).rejects.toMatchObject({ code: 'L9SCP' });
    // A direct call of the function that writes the row gives one error for hidden and missing memories.
    const store = (id: string) =>
      db.sql('C', "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'critical')", [id]);
    const of = (message: string, id: string) => message.replaceAll(id, 'ID');
    const nowhere = '01900000-0000-7000-8000-000000000001';
    const hidden = await errorOf(store(secret.source_packet));
    const missing = await errorOf(store(nowhere));
    expect(hidden.code).toBe('L9OWN');
    expect(of(hidden.message, secret.source_packet)).toBe(of(missing.message, nowhere));
    for (const id of [secret.source_packet, nowhere])
      await expect(reflect('C', { content: 'it rests on nothing', learned_from: [id] })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'learned_from',
        message: 'learned_from: at least one of these memories was not found',
      });
  });

  it('is the only way to write reflection_store, and only for memories of kind reflection', async () => {
    for (const statement of [
      "insert into public.reflection_store (source_packet, reflection_type) values (uuidv7(), 'lesson')",
      'update public.reflection_store set confidence = 0',
      'delete from public.reflection_store',
    ]) {
      await expect(db.sql('C', statement)).rejects.toMatchObject({ code: '42501' });
      await expect(db.sql('L', statement)).rejects.toMatchObject({ code: '42501' });
    }
    const note = await saveMemory(db, 'C', { content: 'a note, no lesson' });
    await expect(
      db.sql('C', "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'low')", [note]),
    ).rejects.toMatchObject({ code: 'L9VAL' });
  });

  it('names the field that is invalid or too large', async () => {
    for (const [args, field] of [
      [{ type: 'rumour' }, 'type'],
      [{ priority: 'urgent' }, 'priority'],
      [{ confidence: 1.5 }, 'confidence'],
      [{ confidence: Number.NaN }, 'confidence'],
      [{ entities: [' '] }, 'entities'],
      [{ expires_at: '2020-01-01' }, 'expires_at'],
      [{ content: ' ' }, 'content'],
    ] as const) {
      await expect(reflect('C', { content: 'x', ...args })).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
    for (const [args, field] of [
      [{ context: 'x'.repeat(9000) }, 'context'],
      [{ entities: Array(65).fill('x') }, 'entities'],
    ] as const) {
      await expect(reflect('C', { content: 'x', ...args })).rejects.toMatchObject({ code: 'L9LIM', column: field });
    }
  });

  it('moves and erases a lesson together with its memory', async () => {
    const saved = await reflect('L', { content: 'Kestrel builds need the old linker.' });
    expect(await rows('C', 'reflection_id = $1', [saved.reflection_id])).toHaveLength(1);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [saved.source_packet]);
    expect(await rows('C', 'reflection_id = $1', [saved.reflection_id])).toHaveLength(0);
    expect((await rows('L', 'reflection_id = $1', [saved.reflection_id]))[0].scope).toBe('l-private');
    await db.sql('L', "select public.erase_memory($1, 'a test')", [saved.source_packet]);
    expect(await rows('L', 'reflection_id = $1', [saved.reflection_id])).toHaveLength(0);
  });

  it('lets a lesson expire with its memory, and removes the expiry when it is saved without one', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const saved = await reflect('C', { content: 'The staging proxy is down this afternoon.', expires_at: soon });
    expect(saved.expires_at.toISOString()).toBe(soon);
    await reflect('C', { content: 'The staging proxy is down this afternoon.' });
    const [kept] = await rows('C', 'reflection_id = $1', [saved.reflection_id]);
    expect(kept.expires_at).toBeNull();
    await db.sql('C', 'select public.update_memory($1, ttl => $2)', [saved.source_packet, soon]);
    await db.asSuperuser(
      "update public.reflection_store set ttl = now() - interval '1 minute' where reflection_id = $1",
      [saved.reflection_id],
    );
    expect(await rows('C', 'reflection_id = $1', [saved.reflection_id])).toStrictEqual([]);
  });

  it('erases a lesson with the last memory that it was learned from', async () => {
    const ids: string[] = [];
    for (const content of ['The cache of March was too small.', 'The cache of April was too small.']) {
      ids.push(await saveMemory(db, 'C', { content }));
    }
    const saved = await reflect('C', { content: 'Twice the cache is enough.', learned_from: ids, project_id: 'l9' });
    const left = async () => (await rows('L', 'reflection_id = $1', [saved.reflection_id])).length;
    await db.sql('L', "select public.erase_memory($1, 'a test')", [ids[0]]);
    expect(await left()).toBe(1);
    const [gone] = await db.sql('L', "select (public.erase_memory($1, 'a test')).memories", [ids[1]]);
    expect([gone.memories, await left()]).toStrictEqual([2, 0]);
  });

  it('keeps the lessons of tenants apart', async () => {
    const claims = await addTenant(db, 'another');
    const text = 'Tenants never learn from each other.';
    const first = await reflect('C', { content: text });
    const other = await reflect('C', { content: text }, claims);
    expect(other.status).toBe('inserted');
    const seen = await db.sql('L', 'select reflection_id from public.reflection_store', [], claims);
    expect(seen).toStrictEqual([{ reflection_id: other.reflection_id }]);
    await expect(
      db.sql(
        'L',
        "select reflection.store_reflection($1, 'lesson', null, '{}', 0.9, 'low')",
        [first.source_packet],
        claims,
      ),
    ).rejects.toMatchObject({ code: 'L9OWN' });
  });
});

describeOnServer('reflect from several connections', () => {
  const db = useTestDatabase();
  const { reflect, rows } = reflectionsOf(db);

  it('leaves one lesson when many callers save it at the same time', async () => {
    await db.sql('L', "select public.register_actor('D')");
    const words = ['each', 'every', 'each and every', 'each'];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        reflect(i % 2 ? 'C' : 'D', {
          content: `Pin the base image of ${words[i % 4]} container to a digest`,
          confidence: 0.2,
          project_id: 'many',
        }),
      ),
    );
    expect(answers.filter(({ status }) => status === 'inserted')).toHaveLength(1);
    const [row, ...more] = await rows('L', "project_id = 'many'");
    expect(more).toHaveLength(0);
    expect([row.times_seen, row.agent_count]).toStrictEqual([12, 2]);
    expect(Math.abs(row.confidence - (1 - 0.8 ** 2))).toBeLessThan(1e-9);
  });
});
