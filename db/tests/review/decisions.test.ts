// What follows from a decision: an approved memory counts and what waited with it is derived, a rejected one is kept for its
// creator and reviewers until it expires.
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, expireMemories, saveMemory, searchMemory, storedMemories } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { addColleague, decide, reads, setRule, stateOf } from './support.ts';

describe('a decision', () => {
  const db = useTestDatabase({ rollsBack: true });
  const inGlobal = { scope: 'global', project_id: null };
  let serial = 0;
  const text = () => `The heron stands ${++serial} hours in the reeds`;
  const pending = (args: object = {}) => saveMemory(db, 'C', { content: text(), ...inGlobal, ...args });
  const count = async (table: string, where = 'true', values: unknown[] = []) =>
    (await db.asSuperuser(`select count(*)::integer as n from ${table} where ${where}`, values))[0].n;

  beforeAll(async () => {
    await addColleague(db);
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
  });

  it('makes an approved memory count for everybody, and keeps who decided, when and why', async () => {
    const id = await pending({ content: 'The heron eats frogs at dusk' });
    const decided = await decide(db, id, 'approved', ' Seen twice. ');
    expect(decided).toMatchObject({
      status: 'approved',
      review_state: 'approved',
      reviewed_by: 'L-CTO',
      review_reason: 'Seen twice.',
    });
    expect(decided.reviewed_at).toStrictEqual(decided.updated_at);
    expect(decided).toMatchObject({ text_creator: null, metadata: { creator: 'Cursor-IDE' } });
    expect((await searchMemory(db, 'D', { query: 'heron frogs' })).hits).toMatchObject([
      { packet_id: id, standing: { review_state: 'approved', is_own: false } },
    ]);
    expect(await callSaveMemory(db, 'D', { content: 'The heron eats frogs at dusk', ...inGlobal })).toMatchObject({
      status: 'skipped_dedupe',
      memory: { packet_id: id },
    });
  });

  it('derives from an approved memory what a saved one derives', async () => {
    await db.sql('L', "select public.register_field_index('status')");
    const parent = await saveMemory(db, 'L', { content: text(), ...inGlobal });
    const id = await pending({ kind: 'event', envelope: { event_type: 'seen', status: 'open' }, parent_ids: [parent] });
    const derived = async () => [
      await count('public.agent_memory_events', 'packet_id = $1', [id]),
      await count('public.field_values', 'packet_id = $1', [id]),
      await count('importance.memory_citations', 'cited_by = $1', [id]),
      await count('importance.pending_recounts', 'packet_id = $1', [parent]),
    ];
    await db.asSuperuser('delete from importance.pending_recounts');
    expect(await derived()).toStrictEqual([0, 0, 0, 0]);
    await decide(db, id, 'approved');
    expect(await derived()).toStrictEqual([1, 1, 1, 1]);
  });

  it('leaves an approved event and trace the word of the agent that saved them', async () => {
    for (const [kind, table, envelope] of [
      ['event', 'agent_memory_events', { event_type: 'seen' }],
      ['reasoning_trace', 'reasoning_traces', { steps: ['first this'] }],
    ] as const) {
      const id = await pending({ kind, envelope });
      await decide(db, id, 'approved');
      const [row] = await db.asSuperuser(
        `select d.creator, p.text_creator from public.${table} d join public.packet_store p using (packet_id)
         where packet_id = $1`,
        [id],
      );
      expect(row, kind).toStrictEqual({ creator: 'Cursor-IDE', text_creator: null });
    }
    expect(await count('derived.memories_being_restated')).toBe(0);
  });

  it('states what waited with an approved memory as the word of its creator', async () => {
    const [fact] = await db.sql(
      'C',
      `select fact_id, source_packet from public.assert_fact('heron', 'eats', '"frogs"', 0.6, scope => 'global',
         valid_from => '2026-01-01', into_world => true)`,
    );
    const [relation] = await db.sql(
      'C',
      "select public.relate('heron', 'lives in', 'reeds', scope => 'global') is null as waits",
    );
    const [lesson] = await db.sql(
      'C',
      `select status, (reflection).reflection_id, (reflection).source_packet from public.reflect('Do not feed herons', 'failure',
         'By the lake', '{heron}', scope => 'global', priority => 'high')`,
    );
    expect(fact.fact_id).toBeNull();
    expect(relation.waits).toBe(true);
    expect(lesson).toMatchObject({ status: 'pending', reflection_id: null });
    const waiting = await db.asSuperuser("select packet_id from public.packet_store where review_state = 'pending'");
    expect(waiting).toHaveLength(3);
    for (const { packet_id } of waiting) await decide(db, packet_id, 'approved');
    expect(
      await db.sql(
        'D',
        'select subject, predicate, object, confidence, creator, is_from_admin from public.knowledge_facts',
      ),
    ).toStrictEqual([
      {
        subject: 'heron',
        predicate: 'eats',
        object: 'frogs',
        confidence: 0.6,
        creator: 'Cursor-IDE',
        is_from_admin: false,
      },
    ]);
    expect(await db.sql('D', 'select agent, valid_from::date::text from public.fact_evidence')).toStrictEqual([
      { agent: 'Cursor-IDE', valid_from: '2026-01-01' },
    ]);
    expect(
      await db.sql('D', 'select source_entity, target_entity, creator from public.entity_relationships'),
    ).toStrictEqual([{ source_entity: 'heron', target_entity: 'reeds', creator: 'Cursor-IDE' }]);
    expect(
      await db.sql('D', 'select reflection_type, context, entities, priority, creator from public.reflection_store'),
    ).toStrictEqual([
      {
        reflection_type: 'failure',
        context: 'By the lake',
        entities: ['heron'],
        // As high as its agent may give.
        priority: 'medium',
        creator: 'Cursor-IDE',
      },
    ]);
    // Their texts stay the agent's own.
    expect(await count('public.packet_store', 'text_creator is not null')).toBe(0);
    expect(await count('derived.memories_being_restated')).toBe(0);
  });

  it('merges what it approves into the memory that counts already', async () => {
    const id = await pending({ content: 'The heron is grey', tags: ['colour'] });
    const counting = await saveMemory(db, 'D', { content: 'the heron is  grey', ...inGlobal, tags: ['bird'] });
    expect(await decide(db, id, 'approved')).toMatchObject({
      status: 'merged',
      packet_id: counting,
      tags: ['bird', 'colour'],
      metadata: { creator: 'D-Agent' },
    });
    expect(await storedMemories(db, [id, counting])).toStrictEqual([counting]);
    const [audited] = await db.asSuperuser(
      "select row_id, details ->> 'into' as into from public.audit_log where operation = 'MERGE'",
    );
    expect(audited).toStrictEqual({ row_id: id, into: counting });
  });

  it('holds for the sections of a document, too', async () => {
    const document = {
      kind: 'document',
      scope: 'global',
      data: { title: 'Herons', body_md: '# One\nGrey.\n\n# Two\nTall.\n' },
    };
    const [{ packet_id }] = await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify([document])]);
    const states = () =>
      db.asSuperuser('select distinct review_state from public.packet_store where packet_id = $1 or part_of = $1', [
        packet_id,
      ]);
    const [{ section }] = await db.asSuperuser(
      'select packet_id as section from public.packet_store where part_of = $1 limit 1',
      [packet_id],
    );
    expect(await errorOf(decide(db, section, 'approved'))).toMatchObject({ code: 'L9VAL', column: 'review_state' });
    for (const [decision, reason] of [
      ['rejected', 'Too short.'],
      ['pending', null],
      ['approved', null],
    ] as const) {
      await decide(db, packet_id, decision, reason);
      expect(await states()).toStrictEqual([{ review_state: decision }]);
    }
    expect(await reads(db, 'D', section)).toBe(true);
  });

  it('is made by administrators who may write there, once, with a reason to reject', async () => {
    const id = await pending();
    const calls: [string, unknown[], object][] = [
      ["select review.decide($1, 'maybe')", [id], { code: 'L9VAL', column: 'decision' }],
      ["select review.decide($1, 'rejected')", [id], { code: 'L9VAL', column: 'review_reason' }],
      ["select review.decide($1, 'rejected', ' ')", [id], { code: 'L9VAL', column: 'review_reason' }],
      ["select review.decide($1, 'rejected', repeat('x', 1001))", [id], { code: 'L9LIM', column: 'review_reason' }],
      ["select review.decide($1, 'rejected', 'token ghp_' || repeat('a1B2', 9))", [id], { code: 'L9SEC' }],
      ["select review.decide($1, 'approved', null, '2020-01-01')", [id], { code: 'L9VER' }],
      ["select review.decide('01900000-0000-7000-8000-000000000000', 'approved')", [], { code: 'L9OWN' }],
      ['update public.packet_store set review_state = null where packet_id = $1', [id], { code: 'L9VAL' }],
      ["update public.packet_store set review_state = 'done' where packet_id = $1", [id], { code: 'L9VAL' }],
    ];
    for (const [statement, values, error] of calls)
      expect(await errorOf(db.sql('L', statement, values)), statement).toMatchObject(error);
    const narrow = { 'jwt.claims.scopes': '["developer"]' };
    expect(await errorOf(db.sql('L', "select review.decide($1, 'approved')", [id], narrow))).toMatchObject({
      code: 'L9OWN',
    });
    const counting = await saveMemory(db, 'D', { content: text(), ...inGlobal });
    expect(await errorOf(decide(db, counting, 'approved'))).toMatchObject({ code: 'L9VAL', column: 'packet_ids' });
    expect(await stateOf(db, id)).toBe('pending');
  });

  it('is audited as what it is, beside the save', async () => {
    const [approved, rejected] = [await pending(), await pending()];
    await decide(db, approved!, 'approved');
    await decide(db, rejected!, 'rejected', 'No.');
    const operations = async (id: string) =>
      (await db.asSuperuser('select operation from public.audit_log where row_id = $1 order by audit_id', [id])).map(
        ({ operation }) => operation,
      );
    expect(await operations(approved!)).toStrictEqual(['INSERT', 'APPROVE']);
    expect(await operations(rejected!)).toStrictEqual(['INSERT', 'REJECT']);
  });

  it('leaves what a memory said while it was pending to its creator and reviewers', async () => {
    const id = await pending({ content: 'The heron is pink' });
    await db.sql(
      'L',
      'update public.packet_store set envelope = \'{"content": "The heron is white"}\' where packet_id = $1',
      [id],
    );
    await decide(db, id, 'approved');
    const texts = async (caller: string) =>
      (await db.sql(caller, 'select content from public.memory_history($1) order by version', [id])).map(
        ({ content }) => content,
      );
    expect(await texts('D')).toStrictEqual(['The heron is white']);
    expect(await texts('C')).toStrictEqual(['The heron is pink', 'The heron is white', 'The heron is white']);
    const [{ now }] = await db.asSuperuser('select clock_timestamp() as now');
    const past = await searchMemory(db, 'D', { query: 'pink heron', as_of: now });
    expect(JSON.stringify(past.hits)).not.toContain('pink');
  });

  it('is told by the history of a memory, state by state', async () => {
    const id = await pending();
    await decide(db, id, 'rejected', 'It is a stork.');
    await decide(db, id, 'approved', 'A heron after all.');
    const history = await db.sql(
      'C',
      `select state ->> 'review_state' as state, state ->> 'review_reason' as reason, changed_fields
       from public.memory_history($1)`,
      [id],
    );
    expect(history.map(({ state, reason }) => [state, reason])).toStrictEqual([
      ['approved', 'A heron after all.'],
      ['rejected', 'It is a stork.'],
      ['pending', null],
    ]);
    expect(history[0].changed_fields).toStrictEqual(expect.arrayContaining(['review_state', 'review_reason']));
  });

  it('is refused where its memory would be withheld beside the same one', async () => {
    const content = text();
    await db.sql('L', "update public.packet_store set tags = '{}' where false");
    const rejected = await pending({ content });
    await decide(db, rejected, 'rejected', 'No.');
    await db.sql('L', "select public.set_review_rule(false, caller => 'C', scope => 'global', kinds => '{note}')");
    const counting = await pending({ content });
    expect(await stateOf(db, counting)).toBeNull();
    await db.sql('L', "select public.set_review_rule(true, caller => 'C', scope => 'global', kinds => '{note}')");
    const kept = await saveMemory(db, 'L', { content: text(), ...inGlobal });
    const same = {
      code: 'L9VAL',
      message: expect.stringMatching(
        new RegExp(`memory ${rejected} of the same creator says the same and is withheld; delete that one first`),
      ),
    };
    await expect(
      db.sql('L', 'select public.merge_memories($1, array[$2::uuid])', [kept, counting]),
    ).rejects.toMatchObject(same);
    await expect(
      db.sql(
        'L',
        "update public.packet_store set review_state = 'rejected', review_reason = 'No.' where packet_id = $1",
        [counting],
      ),
    ).rejects.toMatchObject(same);
    await db.sql('L', 'select public.delete_memory($1)', [rejected]);
    await db.sql('L', 'select public.merge_memories($1, array[$2::uuid])', [kept, counting]);
    expect(await stateOf(db, counting)).toBe('rejected');
  });

  it('keeps a rejected memory for 30 days, then cleanup takes it', async () => {
    const id = await pending();
    const { ttl, reviewed_at } = await decide(db, id, 'rejected', 'No.');
    expect(ttl - reviewed_at).toBe(30 * 24 * 3600 * 1000);
    const sooner = await pending({ ttl: '2026-12-01T00:00:00Z' });
    const [{ is_sooner }] = await db.sql(
      'L',
      "select (memory).ttl <= now() + interval '30 days' as is_sooner from review.decide($1, 'rejected', 'No.')",
      [sooner],
    );
    expect(is_sooner).toBe(true);
    for (const attempt of [
      'select public.delete_memory($1)',
      "select public.update_memory($1, content => 'another text')",
      "select public.update_memory($1, ttl => '2090-01-01')",
    ])
      expect(await errorOf(db.sql('C', attempt, [id])), attempt).toMatchObject({ code: 'L9IMM' });
    await db.sql('C', 'delete from public.packet_store where packet_id = $1', [id]);
    expect(await stateOf(db, id)).toBe('rejected');
    await expireMemories(db, [id]);
    await db.sql('L', 'select public.delete_expired_memories()');
    expect(await storedMemories(db, [id])).toStrictEqual([]);
  });

  it('refuses a rejected text that is saved again, or holds it, without asking a second time', async () => {
    const content = 'The heron stole my lunch';
    const id = await pending({ content });
    const { ttl } = await decide(db, id, 'rejected', 'Herons do not steal.');
    const again = [
      { content, ...inGlobal },
      { content: content.toUpperCase(), ...inGlobal },
      { content, ...inGlobal, kind: 'idea' },
    ];
    for (const args of again)
      expect(await errorOf(callSaveMemory(db, 'C', args))).toMatchObject({ code: 'L9VAL', column: 'content' });
    // It is another's to say, and elsewhere it needs no review.
    expect(await callSaveMemory(db, 'C', { content })).toMatchObject({ status: 'inserted' });
    expect((await callSaveMemory(db, 'D', { content, ...inGlobal, kind: 'idea' })).status).toBe('inserted');

    await db.sql('L', "select public.set_review_settings('hold')");
    const held = await callSaveMemory(db, 'C', { content, ...inGlobal });
    expect(held).toMatchObject({ status: 'skipped_dedupe', memory: { packet_id: id, review_state: 'rejected' } });
    const elsewhere = await callSaveMemory(db, 'C', { content, ...inGlobal, kind: 'fact' });
    expect(elsewhere).toMatchObject({ status: 'inserted', memory: { review_state: 'rejected' } });
    expect(new Date(elsewhere.memory.ttl).getTime()).toBeGreaterThanOrEqual(ttl.getTime());
    await expireMemories(db, [id, elsewhere.memory.packet_id]);
    expect((await callSaveMemory(db, 'C', { content, ...inGlobal })).memory.review_state).toBe('pending');
  });
});
