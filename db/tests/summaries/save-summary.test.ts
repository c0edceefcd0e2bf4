// Saving summaries, and who may read them.
import { errorOf } from '../support/errors.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { summariesOf, user } from './support.ts';

describe('save_summary', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { sum, seen, note } = summariesOf(db);

  it('saves a memory of kind summary with its own columns and its sources', async () => {
    const sources = [await note('C', 'The grebe nests late'), await note('L', 'The grebe has two eggs')];
    const summary = await sum('C', sources, {
      scope_value: 'grebes',
      summary_text: 'Grebes nest late.',
      key_facts: ['two eggs'],
      key_entities: ['Grebe', 'GREBE'],
      key_decisions: ['wait'],
    });
    expect([
      summary.text,
      summary.scope,
      summary.project_id,
      summary.packet_count,
      summary.key_entities,
      summary.creator,
    ]).toStrictEqual(['Grebes nest late.', 'developer', 'l9', 2, ['Grebe'], 'Cursor-IDE']);
    const [memory] = await db.sql(
      'L',
      'select packet_type, content, parent_ids from public.packet_store where packet_id = $1',
      [summary.source_packet],
    );
    expect(memory).toStrictEqual({
      packet_type: 'summary',
      content: 'Summary of topic grebes\nGrebes nest late.',
      parent_ids: [...sources].sort(),
    });
    const [{ ids, contents }] = await db.sql(
      'L',
      `select public.memory_summaries_source_packet_ids(s) as ids, array(select p.packet_id from public.memory_summaries_sources(s) p) as contents
       from public.memory_summaries s where summary_id = $1`,
      [summary.summary_id],
    );
    expect(ids).toStrictEqual([...sources].sort());
    expect(contents).toStrictEqual(sources);
  });

  it('replaces the summary of the same subject and audience', async () => {
    const first = await note('C', 'first');
    const old = await sum('C', [first], { scope_value: 'plovers' });
    const fresh = await sum('C', [first, await note('C', 'second')], {
      scope_value: 'plovers',
      summary_text: 'A new text.',
    });
    const rows = await db.sql('C', "select summary_id from public.memory_summaries where scope_value = 'plovers'");
    expect(rows).toStrictEqual([{ summary_id: fresh.summary_id }]);
    expect(
      await db.sql('L', 'select from public.packet_store where packet_id = $1', [old.source_packet]),
    ).toStrictEqual([]);
    // Only admins replace the summary of another agent.
    await expect(sum('C', [first, fresh.source_packet], { scope_value: 'plovers' })).rejects.toMatchObject({
      code: 'L9VAL',
    });
    const ofL = await sum('L', [first], { scope_value: 'plovers' });
    await expect(sum('C', [first], { scope_value: 'plovers' })).rejects.toMatchObject({
      code: 'L9OWN',
      column: 'scope_value',
    });
    expect(await seen('C', ofL.summary_id)).toBeTruthy();
  });

  it('gives a summary the narrowest scope of its sources, whatever the writer may read', async () => {
    const shared = await note('C', 'shared');
    const world = await note('C', 'for all', { scope: 'global', project_id: null });
    const secret = await note('L', 'secret', { scope: 'l-private' });
    expect((await sum('C', [world])).scope).toBe('global');
    const both = await sum('C', [world, shared]);
    expect([both.scope, both.project_id]).toStrictEqual(['developer', 'l9']);
    const hidden = await sum('L', [world, shared, secret]);
    expect([hidden.scope, hidden.project_id]).toStrictEqual(['l-private', 'l9']);
    expect(await seen('C', hidden.summary_id)).toBeUndefined();
    expect(
      await db.sql('C', 'select * from public.memory_summary_sources where summary_packet = $1', [
        hidden.source_packet,
      ]),
    ).toStrictEqual([]);
    const elsewhere = await note('C', 'elsewhere', { project_id: 'other' });
    await expect(sum('C', [shared, elsewhere])).rejects.toMatchObject({ code: 'L9VAL', column: 'source_packet_ids' });
    await db.sql('L', "select public.register_scope('birds', true)");
    await db.asSuperuser(
      "insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes) select tenant_id, 'B', 'Bird', 'birds', 'b', 'l9_agent', '{birds}', '{birds}' from public.actors where caller = 'C' and tenant_id = '00000000-0000-7000-8000-000000000001'",
    );
    const bird = await note('L', 'of birds', { scope: 'birds' });
    // Readers of birds can't read developer, and readers of developer can't read birds.
    await expect(sum('L', [shared, bird])).rejects.toMatchObject({ code: 'L9VAL', column: 'source_packet_ids' });
    // Memories of a user are visible only to callers that act for that user.
    const ofUser = (
      await db.sql(
        'C',
        "select (memory).packet_id as id from public.save_memory('of the user', project_id => 'l9')",
        [],
        user,
      )
    )[0].id;
    await expect(sum('L', [ofUser, shared])).rejects.toMatchObject({ code: 'L9VAL', column: 'source_packet_ids' });
    const mine = await sum('C', [ofUser, shared], {}, user);
    expect(mine.user_id).toBe(user['jwt.claims.user_id']);
    expect(await seen('C', mine.summary_id)).toBeUndefined();
  });

  it('answers alike for hidden and missing sources and for other tenants', async () => {
    const secret = await note('L', 'secret', { scope: 'l-private' });
    const claims = await addTenant(db, 'another');
    const [{ id: foreign }] = await db.sql(
      'C',
      "select (memory).packet_id as id from public.save_memory('of another tenant', project_id => 'l9')",
      [],
      claims,
    );
    const errors = [];
    for (const id of [secret, foreign, '01900000-0000-7000-8000-000000000001']) {
      const error = await errorOf(sum('C', [id]));
      errors.push([error.code, error.message, error.column]);
      await expect(db.sql('C', 'select summaries.audience_of_sources($1)', [[id]])).rejects.toMatchObject({
        code: 'L9OWN',
      });
    }
    expect(errors[0]).toStrictEqual(errors[1]);
    expect(errors[0]).toStrictEqual(errors[2]);
    expect(errors[0]![0]).toBe('L9OWN');
  });

  it('refuses direct calls that would give a summary to more readers', async () => {
    const secret = await note('L', 'very secret', { scope: 'l-private' });
    const wide = await note('L', 'a summary in the open', { kind: 'summary' });
    const store = (caller: string, packet: string, sources: string[], claims = {}) =>
      db.sql(
        caller,
        "select summaries.store_summary_row($1, 'topic', 'x', $2, '{leak}', '{}', '{}', 0.5, null)",
        [packet, sources],
        claims,
      );
    await expect(store('L', wide, [secret])).rejects.toMatchObject({ code: 'L9VAL' });
    const shared = await note('C', 'shared');
    await expect(store('C', wide, [shared])).rejects.toMatchObject({ code: 'L9OWN' });
    await expect(store('L', shared, [shared])).rejects.toMatchObject({ code: 'L9VAL' });
    const ofUser = (
      await db.sql(
        'C',
        "select (memory).packet_id as id from public.save_memory('the user''s own', project_id => 'l9')",
        [],
        user,
      )
    )[0].id;
    const ofC = await note('C', 'a summary of C', { kind: 'summary' });
    await expect(store('C', ofC, [ofUser], user)).rejects.toMatchObject({ code: 'L9VAL' });
    for (const statement of [
      "select summaries.store_summary('topic', 'x', 'text', '{}')",
      'select derived.delete_memories(array[uuidv7()])',
      'select * from derived.memories_being_deleted',
      'insert into derived.memories_being_deleted values (uuidv7())',
      'update public.memory_summaries set packet_count = 1',
      'delete from public.memory_summary_sources',
    ]) {
      await expect(db.sql('C', statement), statement).rejects.toMatchObject({ code: '42501' });
      await expect(db.sql('L', statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('accepts more sources than a memory can have parents', async () => {
    const ids = await db.sql(
      'C',
      `insert into public.packet_store (packet_type, envelope, project_id)
       select 'note', jsonb_build_object('content', 'of a long thread ' || n), 'long' from generate_series(1, 80) n returning packet_id`,
    );
    const sources = ids.map(({ packet_id }) => packet_id as string);
    const summary = await sum('C', sources);
    expect(summary.packet_count).toBe(80);
    await db.sql('C', 'select public.delete_memory($1)', [sources[0]]);
    expect(await seen('C', summary.summary_id)).toBeUndefined();
    await expect(sum('C', Array(501).fill(sources[1]))).rejects.toMatchObject({ code: 'L9LIM' });
  });

  it('names the field that is invalid or too large', async () => {
    const source = await note('C', 'a source');
    for (const [args, field] of [
      [{ scope_type: 'rumour' }, 'scope_type'],
      [{ scope_value: ' ' }, 'scope_value'],
      [{ summary_text: ' ' }, 'summary_text'],
      [{ source_packet_ids: [] }, 'source_packet_ids'],
      [{ confidence: 2 }, 'confidence'],
      [{ valid_until: '2020-01-01' }, 'valid_until'],
      [{ key_facts: [' '] }, 'key_facts'],
    ] as const) {
      await expect(sum('C', [source], args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
  });
});
