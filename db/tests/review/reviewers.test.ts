// Reviewers approve, edit, reject and take back, one memory or many at once, and nobody else does.
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a reviewer', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('L', "select public.set_review_rule(true, caller => 'C', scope => 'global')");
  });

  let serial = 0;
  const held = (content: string | null = `held ${++serial}`, args = {}) =>
    saveMemory(db, 'C', { content: content as string, scope: 'global', project_id: null, ...args });
  const rowOf = async (id: string) =>
    (
      await db.asSuperuser(
        'select envelope, tags, review_state, review_reason, reviewed_by, ttl, updated_at::text from public.packet_store where packet_id = $1',
        [id],
      )
    )[0];
  const stateOf = async (id: string) => (await rowOf(id))?.review_state;
  const audited = (id: string) =>
    db.asSuperuser(
      "select operation from public.audit_log where row_id = $1 and status = 'success' order by audit_id",
      [id],
    );
  const approve = (ids: string[], others = '', values: unknown[] = []) =>
    db.sql('L', `select * from public.approve_memory($1${others}) d`, [ids, ...values]);
  const reject = (ids: string[], reason: string | null = 'not so') =>
    db.sql('L', 'select * from public.reject_memory($1, $2)', [ids, reason]);
  const undo = (ids: string[]) => db.sql('L', 'select * from public.undo_review($1)', [ids]);

  it('is an administrator, whatever psql under the role of an agent tries', async () => {
    const id = await held();
    const other = await saveMemory(db, 'L', { content: 'counts' });
    for (const [statement, values] of [
      ['select public.approve_memory($1)', [[id]]],
      ["select public.reject_memory($1, 'no')", [[id]]],
      ['select public.undo_review($1)', [[id]]],
      ['select public.merge_memories($1, $2)', [other, [id]]],
      ['select public.review_queue()', []],
      ["select review.decide($1, 'approved')", [id]],
      ['select review.move_to($1, $2)', [other, id]],
      ['select review.move_back($1)', [id]],
      ["update public.packet_store set review_state = 'approved' where packet_id = $1", [id]],
    ] as [string, unknown[]][]) {
      const { code } = await errorOf(db.sql('C', statement, values));
      expect(['L9SCP', '42501'], statement).toContain(code);
    }
    for (const name of ['approve_memory', 'reject_memory'] as const) {
      const args = name === 'approve_memory' ? '$1' : "$1, 'no'";
      await expect(db.sql('C', `select public.${name}(${args})`, [[id]])).rejects.toMatchObject({
        code: 'L9SCP',
        message: 'only administrators can do this',
      });
    }
    expect(await stateOf(id)).toBe('pending');
  });

  it('approves many memories at once, parents before children', async () => {
    const parent = await held();
    const child = await held(undefined, { parent_ids: [parent] });
    const decided = await approve([child, parent]);
    expect(decided.map(({ packet_id, status, merged_into }) => [packet_id, status, merged_into])).toStrictEqual([
      [parent, 'approved', null],
      [child, 'approved', null],
    ]);
    expect(await rowOf(child)).toMatchObject({ review_state: 'approved', reviewed_by: 'L-CTO', ttl: null });
    expect(await audited(child)).toContainEqual({ operation: 'APPROVE' });
    expect((await approve([child]))[0].status).toBe('approved');
  });

  it('decides about all memories of a batch or none, and is told which one is wrong', async () => {
    const [first, second] = [await held(), await held()];
    const missing = '01900000-0000-7000-8000-000000000000';
    const counting = await saveMemory(db, 'L', { content: `counts ${++serial}` });
    for (const [ids, code, message] of [
      [[first, missing, second], 'L9OWN', `packet_ids: item 2 of 3: memory ${missing} does not exist, or is not yours`],
      [
        [first, second, counting],
        'L9VAL',
        `packet_ids: item 3 of 3: memory ${counting} needs no review: it counts already`,
      ],
      [[first, second, first], 'L9VAL', `packet_ids: memory ${first} is named twice`],
      [[], 'L9VAL', 'packet_ids: give the ids of 1 to 500 memories'],
      [Array.from({ length: 501 }, () => first), 'L9LIM', 'packet_ids: at most 500, got 501'],
    ] as const) {
      await expect(approve([...ids])).rejects.toMatchObject({ code, message, column: 'packet_ids' });
      await expect(reject([...ids])).rejects.toMatchObject({ code, message });
    }
    expect([await stateOf(first), await stateOf(second)]).toStrictEqual(['pending', 'pending']);
  });

  it('corrects the text, tags and fields of a memory in the step that approves it', async () => {
    const id = await held('The port is 5433.', { tags: ['db'] });
    const { updated_at } = await rowOf(id);
    const [{ status }] = await approve([id], ', text => $2, tags => $3, fields => $4, expected_version => $5', [
      'The port is 5432.',
      ['db', 'ports'],
      { checked: true },
      updated_at,
    ]);
    expect(status).toBe('approved');
    expect(await rowOf(id)).toMatchObject({
      review_state: 'approved',
      envelope: { content: 'The port is 5432.', checked: true },
      tags: ['db', 'ports'],
    });
    // What it said before is history for its writer and for reviewers only.
    const history = await db.sql('C', 'select content from public.memory_history($1)', [id]);
    expect(history.map(({ content }) => content)).toContain('The port is 5433.');
  });

  it('gives a memory of a kind with a title another one', async () => {
    const id = await held(null, {
      kind: 'decision',
      envelope: { title: 'Use MySQL', status: 'proposed', rationale: 'Reports join five tables.' },
    });
    await approve([id], ', title => $2', ['Use PostgreSQL']);
    expect((await rowOf(id)).envelope.title).toBe('Use PostgreSQL');
    const note = await held();
    await expect(approve([note], ", title => 'A title'")).rejects.toMatchObject({
      code: 'L9VAL',
      message: 'title: a memory of kind note has none',
    });
    const counting = await saveMemory(db, 'L', { content: `counts ${++serial}` });
    await expect(approve([counting], ", text => 'x z'")).rejects.toMatchObject({ code: 'L9VAL', column: 'packet_ids' });
  });

  it('is refused where the memory has changed since it was read, and for changes of several memories', async () => {
    const [id, other] = [await held(), await held()];
    const { updated_at } = await rowOf(id);
    await db.sql('C', "select public.update_memory($1, content => 'Changed meanwhile.')", [id]);
    for (const edit of ['', ", text => 'Another.'"])
      await expect(approve([id], `, expected_version => $2${edit}`, [updated_at])).rejects.toMatchObject({
        code: 'L9VER',
      });
    await expect(approve([id, other], ", text => 'Both.'")).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'packet_ids',
    });
    await expect(approve([id, other], ', expected_version => now()')).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'expected_version',
    });
    expect(await stateOf(id)).toBe('pending');
  });

  it('rejects with a reason, which the writer reads', async () => {
    const id = await held();
    for (const reason of [null, '', '  \u200b'])
      await expect(reject([id], reason)).rejects.toMatchObject({ code: 'L9VAL', column: 'reason' });
    await expect(reject([id], 'x'.repeat(1001))).rejects.toMatchObject({ code: 'L9LIM', column: 'reason' });
    expect((await reject([id], 'It is 5432.'))[0].status).toBe('rejected');
    const [mine] = await db.sql(
      'C',
      'select review_state, review_reason from public.packet_store where packet_id = $1',
      [id],
    );
    expect(mine).toStrictEqual({ review_state: 'rejected', review_reason: 'It is 5432.' });
    expect(await audited(id)).toContainEqual({ operation: 'REJECT' });
  });

  it('takes back a rejection and an approval, with all that was derived from the memory', async () => {
    const id = await held('The ferry leaves at nine.', { ttl: '2099-01-01T00:00:00Z' });
    await reject([id]);
    expect((await rowOf(id)).ttl.getTime()).toBeLessThan(Date.now() + 31 * 86_400_000);
    expect((await undo([id]))[0].status).toBe('pending');
    expect(await rowOf(id)).toMatchObject({
      review_state: 'pending',
      review_reason: null,
      ttl: new Date('2099-01-01T00:00:00Z'),
    });
    await approve([id]);
    await db.sql('L', "select public.assert_fact('ferry', 'leaves at', '\"nine\"', source_packet => $1)", [id]);
    await db.sql('L', "select public.relate('ferry', 'calls_at', 'island', source_packet => $1)", [id]);
    await db.sql('L', 'select public.apply_world_update($1, source_packet => $2)', [
      { insight_type: 'change', entities: [{ entity_id: 'ferry', attributes: { at: 'nine' } }] },
      id,
    ]);
    expect((await undo([id]))[0].status).toBe('pending');
    for (const table of ['fact_evidence', 'relationship_evidence', 'memory_embeddings', 'field_values'])
      expect(await db.asSuperuser(`select from public.${table} where packet_id = $1`, [id]), table).toStrictEqual([]);
    expect(await db.sql('L', "select * from public.find_facts(subject => 'ferry')")).toStrictEqual([]);
    expect(await db.asSuperuser('select from public.world_model_entities')).toStrictEqual([]);
    await expect(undo([id])).rejects.toMatchObject({ code: 'L9VAL', column: 'packet_ids' });
    const counting = await saveMemory(db, 'L', { content: `counts ${++serial}` });
    await expect(undo([counting])).rejects.toMatchObject({ code: 'L9VAL' });
    expect((await approve([id]))[0].status).toBe('approved');
  });

  it('takes back, with an approval, the summaries that rest on the memory', async () => {
    const id = await held();
    await approve([id]);
    const [{ source_packet }] = await db.sql(
      'L',
      "select * from public.save_summary('topic', 'herons', 'In short, they stand.', array[$1::uuid])",
      [id],
    );
    await db.sql('L', 'select public.undo_review(array[$1::uuid])', [id]);
    expect(await stateOf(id)).toBe('pending');
    expect(await stateOf(source_packet)).toBeUndefined();
  });

  it('takes back a rejection as one change, and says of nothing else that it changed', async () => {
    const id = await held();
    await reject([id]);
    await undo([id]);
    const history = await db.sql('L', 'select state, changed_fields from public.memory_history($1)', [id]);
    expect(history.map(({ state }) => [state.review_state, state.metadata.updated_by ?? null])).toStrictEqual([
      ['pending', null],
      ['rejected', null],
      ['pending', null],
    ]);
  });

  it('approves what was rejected', async () => {
    const id = await held();
    await reject([id]);
    await approve([id]);
    expect(await rowOf(id)).toMatchObject({ review_state: 'approved', review_reason: null, ttl: null });
  });
});
