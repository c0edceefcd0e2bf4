// Several memories that say the same become one, which keeps what the others had, and that is taken back.
import { saveMemory } from '../support/memories.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('merge_memories', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('L', "select public.set_review_rule(true, caller => 'C', kinds => '{lead}')");
    await db.sql('L', "select public.register_predicate('leaves at', true)");
  });

  const merge = (keep: string, others: string[], more = '', values: unknown[] = []) =>
    db.sql(
      'L',
      `select (r.memory).envelope ->> 'content' as content, (r.memory).tags, (r.memory).parent_ids, (r.memory).importance_score,
         to_jsonb(r.merged) as merged from public.merge_memories($1, $2${more}) r`,
      [keep, others, ...values],
    );
  const undo = (ids: string[]) => db.sql('L', 'select * from public.undo_review($1)', [ids]);
  const visible = async (caller: string, id: string) =>
    (await db.sql(caller, 'select from public.packet_store where packet_id = $1', [id])).length === 1;
  const found = async (query: string) =>
    (
      await db.sql(
        'C',
        "select h.packet_id from public.search_memory(query => $1, mode => 'lexical') r, unnest(r.hits) h",
        [query],
      )
    ).map(({ packet_id }) => packet_id);
  const sources = async () =>
    (
      await db.asSuperuser(
        `select 'fact' as what, packet_id from public.fact_evidence union all
         select 'relationship', packet_id from public.relationship_evidence union all
         select 'world', source_packet from public.world_model_updates order by 1, 2`,
      )
    ).map(({ what, packet_id }) => [what, packet_id]);
  const accessesOf = async (id: string) =>
    Number(
      (await db.asSuperuser('select access_count from public.memory_signals where packet_id = $1', [id]))[0]
        ?.access_count ?? 0,
    );

  it('gives evidence, parents, tags, citations and accesses to the memory that is kept, and takes that back', async () => {
    const parent = await saveMemory(db, 'C', { content: 'A pier has a timetable.' });
    const keep = await saveMemory(db, 'C', {
      content: 'The ferry leaves the pier at nine.',
      tags: ['ferry'],
      importance: 0.2,
    });
    const other = await saveMemory(db, 'C', {
      ...{ content: 'At nine the ferry sails from the pier.', tags: ['pier'], parent_ids: [parent], importance: 0.4 },
    });
    const child = await saveMemory(db, 'C', { content: 'So be there at ten to nine.', parent_ids: [other] });
    await db.sql('C', "select public.assert_fact('ferry', 'leaves at', '\"nine\"', source_packet => $1)", [other]);
    await db.sql('C', "select public.relate('ferry', 'calls_at', 'pier', source_packet => $1)", [other]);
    await db.sql('C', 'select public.apply_world_update($1, source_packet => $2)', [
      { insight_type: 'change', entities: [{ entity_id: 'ferry', attributes: { at: 'nine' } }] },
      other,
    ]);
    await found('ferry sails');
    await db.asSuperuser(
      `insert into public.memory_signals (packet_id, tenant_id, access_count) select packet_id, tenant_id, 7 from public.packet_store
       where packet_id = $1 on conflict (packet_id) do update set access_count = 7`,
      [other],
    );
    const before = await sources();
    expect(before.map(([, id]) => id)).toStrictEqual([other, other, other]);

    const [merged] = await merge(keep, [other], ', text => $3', ['The ferry leaves the pier at nine sharp.']);
    expect(merged).toMatchObject({
      content: 'The ferry leaves the pier at nine sharp.',
      tags: ['ferry', 'pier'],
      importance_score: expect.closeTo(0.4, 5),
      merged: [{ packet_id: other, status: 'merged', merged_into: keep }],
    });
    expect((await sources()).map(([, id]) => id)).toStrictEqual([keep, keep, keep]);
    expect(await accessesOf(keep)).toBe(7);
    expect(await db.sql('L', "select source_packet from public.find_facts(subject => 'ferry')")).toStrictEqual([
      { source_packet: keep },
    ]);
    expect(
      await db.asSuperuser('select packet_id from importance.memory_citations where cited_by = $1', [child]),
    ).toStrictEqual([{ packet_id: keep }]);
    expect(await found('ferry sails')).not.toContain(other);
    expect([await visible('L', other), await visible('C', other)]).toStrictEqual([true, true]);
    const [{ review_state, review_reason }] = await db.sql(
      'C',
      'select * from public.packet_store where packet_id = $1',
      [other],
    );
    expect([review_state, review_reason]).toStrictEqual(['rejected', `merged into ${keep}`]);
    expect(
      await db.asSuperuser(
        "select details ->> 'into' as into from public.audit_log where operation = 'MERGE' and row_id = $1",
        [other],
      ),
    ).toStrictEqual([{ into: keep }]);

    expect((await undo([other]))[0]).toMatchObject({ packet_id: other, status: 'approved', merged_into: null });
    expect(await sources()).toStrictEqual(before);
    expect(await accessesOf(keep)).toBe(0);
    expect(await found('ferry sails')).toContain(other);
    expect(
      await db.asSuperuser('select packet_id from importance.memory_citations where cited_by = $1', [child]),
    ).toStrictEqual([{ packet_id: other }]);
    const history = await db.sql('L', 'select content from public.memory_history($1)', [keep]);
    expect(history.map(({ content }) => content)).toContain('The ferry leaves the pier at nine.');
  });

  it('merges what waits for a review, which waits again when that is undone', async () => {
    const keep = await saveMemory(db, 'L', { content: 'Acme asked for a quote.' });
    const held = await saveMemory(db, 'C', { content: 'A quote was asked for by Acme.', kind: 'lead' });
    await merge(keep, [held]);
    expect((await undo([held]))[0].status).toBe('pending');
  });

  it('is refused, as a whole and with the name of the item, for what cannot become one memory', async () => {
    const note = (content: string, args = {}) => saveMemory(db, 'C', { content, ...args });
    const keep = await note('kept');
    const fine = await note('fine');
    const held = await note('held', { kind: 'lead' });
    const missing = '01900000-0000-7000-8000-000000000000';
    for (const [others, code, message] of [
      [[fine, missing], 'L9OWN', /^others: item 2 of 2: memory .* does not exist/],
      [[fine, keep], 'L9VAL', /^keep: /],
      [
        [fine, await note('elsewhere', { project_id: 'sea' })],
        'L9VAL',
        /^others: item 2 of 2: is of another scope, project/,
      ],
      [
        [fine, await saveMemory(db, 'L', { content: 'secret', scope: 'l-private' })],
        'L9VAL',
        /^others: item 2 of 2: is of/,
      ],
      [[fine, await note('hello', { kind: 'message', thread_id: 't' })], 'L9VAL', /^others: item 2 of 2: is a turn/],
      [[], 'L9VAL', /^others: give/],
    ] as const)
      await expect(merge(keep, [...others])).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await expect(merge(held, [fine])).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/approve that one/),
    });
    await db.sql('L', "select * from public.reflect('A lesson.', project_id => 'l9')");
    const [{ source_packet }] = await db.asSuperuser('select source_packet from public.reflection_store');
    await expect(merge(keep, [source_packet])).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/lesson/),
    });
    const [summary] = await db.sql('C', "select * from public.save_summary('topic', 'the boat', 'In short.', $1)", [
      [fine],
    ]);
    await expect(merge(summary.source_packet, [fine])).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/^keep: it was made from one of the others/),
    });
    expect(await found('fine')).toContain(fine);
  });

  it('moves nothing for an administrator of another tenant, or of some scopes only', async () => {
    const acme = await addTenant(db, 'acme');
    const [keep, other] = [
      await saveMemory(db, 'L', { content: 'the first of two', scope: 'l-private' }),
      await saveMemory(db, 'L', { content: 'the second of two', scope: 'l-private' }),
    ];
    await saveMemory(db, 'L', { content: 'the third', scope: 'l-private', parent_ids: [other] });
    for (const claims of [acme, { 'jwt.claims.scopes': '["developer"]' }, { 'jwt.claims.projects': '["sea"]' }])
      for (const call of ['public.merge_memories($1, array[$2::uuid])', 'review.move_to($2, $1)'])
        await expect(db.sql('L', `select ${call}`, [keep, other], claims)).rejects.toMatchObject({ code: 'L9OWN' });
    await merge(keep, [other]);
    for (const call of ['public.undo_review(array[$1::uuid])', 'review.move_back($1)'])
      await expect(db.sql('L', `select ${call}`, [other], acme)).rejects.toMatchObject({ code: 'L9OWN' });
    expect(await db.sql('L', 'select from review.merges', [], acme)).toStrictEqual([]);
    expect(await db.sql('L', 'select packet_id from review.merges where packet_id = $1', [other])).toHaveLength(1);
    await expect(db.sql('C', 'select from review.merges')).rejects.toMatchObject({ code: '42501' });
  });

  it('cannot be undone where another memory says the same by now', async () => {
    const keep = await saveMemory(db, 'L', { content: 'first words' });
    const other = await saveMemory(db, 'L', { content: 'second words' });
    await merge(keep, [other], ", text => 'second words'");
    await expect(undo([other])).rejects.toMatchObject({
      code: 'L9VAL',
      message: expect.stringMatching(/says the same by now/),
    });
  });
});
