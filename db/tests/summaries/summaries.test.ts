// Summaries: never for eyes that may not read every source, however sources and summaries move.

import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { grepDatabase } from '../support/dump.ts';
import { errorOf } from '../support/errors.ts';
import { itOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';
import { summariesOf, user } from './support.ts';

describe('summaries', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const { sum, seen, note } = summariesOf(gateway);

  it('are memories, with what is particular and their sources beside them', async () => {
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
    ]).toStrictEqual(['Grebes nest late.', 'developer', 'l9', 2, ['grebe'], 'Cursor-IDE']);
    const [memory] = await gateway.sql(
      'L',
      'select packet_type, content, parent_ids from public.packet_store where packet_id = $1',
      [summary.source_packet],
    );
    expect(memory).toStrictEqual({
      packet_type: 'summary',
      content: 'Summary of topic grebes\nGrebes nest late.',
      parent_ids: [...sources].sort(),
    });
    const [{ ids, contents }] = await gateway.sql(
      'L',
      `select public.memory_summaries_source_packet_ids(s) as ids, array(select p.packet_id from public.memory_summaries_sources(s) p) as contents
       from public.memory_summaries s where summary_id = $1`,
      [summary.summary_id],
    );
    expect(ids).toStrictEqual([...sources].sort());
    expect(contents).toStrictEqual(sources);
  });

  it('replace the one before: of one subject there is one in a room', async () => {
    const first = await note('C', 'first');
    const old = await sum('C', [first], { scope_value: 'plovers' });
    const fresh = await sum('C', [first, await note('C', 'second')], { scope_value: 'plovers', summary_text: 'Anew.' });
    const rows = await gateway.sql('C', "select summary_id from public.memory_summaries where scope_value = 'plovers'");
    expect(rows).toStrictEqual([{ summary_id: fresh.summary_id }]);
    expect(
      await gateway.sql('L', 'select from public.packet_store where packet_id = $1', [old.source_packet]),
    ).toStrictEqual([]);
    // Another's is for admins to replace only.
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

  it('have the narrowest scope of their sources, whatever the writer may', async () => {
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
      await gateway.sql('C', 'select * from public.memory_summary_sources where summary_packet = $1', [
        hidden.source_packet,
      ]),
    ).toStrictEqual([]);
    const elsewhere = await note('C', 'elsewhere', { project_id: 'other' });
    await expect(sum('C', [shared, elsewhere])).rejects.toMatchObject({ code: 'L9VAL', column: 'source_packet_ids' });
    await gateway.sql('L', "select public.register_scope('birds', true)");
    await gateway.asSuperuser(
      "insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes) select tenant_id, 'B', 'Bird', 'birds', 'b', 'l9_agent', '{birds}', '{birds}' from public.actors where caller = 'C' and tenant_id = '00000000-0000-7000-8000-000000000001'",
    );
    const bird = await note('L', 'of birds', { scope: 'birds' });
    // Who reads birds does not read developer, nor the other way round.
    await expect(sum('L', [shared, bird])).rejects.toMatchObject({ code: 'L9VAL', column: 'source_packet_ids' });
    // What is of a user is for those who act for it.
    const ofUser = (
      await gateway.sql(
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

  it('tell hidden sources from missing ones by nothing, and other tenants neither', async () => {
    const secret = await note('L', 'secret', { scope: 'l-private' });
    const claims = await addTenant(gateway, 'another');
    const [{ id: foreign }] = await gateway.sql(
      'C',
      "select (memory).packet_id as id from public.save_memory('of another tenant', project_id => 'l9')",
      [],
      claims,
    );
    const errors = [];
    for (const id of [secret, foreign, '01900000-0000-7000-8000-000000000001']) {
      const error = await errorOf(sum('C', [id]));
      errors.push([error.code, error.message, error.column]);
      await expect(gateway.sql('C', 'select summaries.audience_of_sources($1)', [[id]])).rejects.toMatchObject({
        code: 'L9OWN',
      });
    }
    expect(errors[0]).toStrictEqual(errors[1]);
    expect(errors[0]).toStrictEqual(errors[2]);
    expect(errors[0]![0]).toBe('L9OWN');
  });

  it('can be made for others to read by no direct call either', async () => {
    const secret = await note('L', 'very secret', { scope: 'l-private' });
    const wide = await note('L', 'a summary in the open', { kind: 'summary' });
    const store = (caller: string, packet: string, sources: string[], claims = {}) =>
      gateway.sql(
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
      await gateway.sql(
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
      'select * from summaries.due_summaries_for_job()',
      'select summaries.delete_summaries(array[uuidv7()])',
      'select * from summaries.summaries_being_deleted',
      'insert into summaries.summaries_being_deleted values (uuidv7())',
      'update public.memory_summaries set packet_count = 1',
      'delete from public.memory_summary_sources',
    ]) {
      await expect(gateway.sql('C', statement), statement).rejects.toMatchObject({ code: '42501' });
      await expect(gateway.sql('L', statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('go, with all they said, when a source moves to fewer readers, is deleted or erased', async () => {
    const word = `zq${Math.random().toString(36).slice(2)}`;
    const find = () => gateway.inSuperuserSession((client) => grepDatabase(client, [word]));
    const acts: [string, (id: string) => Promise<unknown>][] = [
      ['moves', (id) => gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [id])],
      [
        'moves to another project',
        (id) => gateway.sql('C', "select public.update_memory($1, project_id => 'other')", [id]),
      ],
      [
        'is to expire',
        (id) => gateway.sql('C', "select public.update_memory($1, ttl => now() + interval '1 day')", [id]),
      ],
      ['is deleted', (id) => gateway.sql('C', 'select public.delete_memory($1)', [id])],
      ['is erased', (id) => gateway.sql('L', "select public.erase_memory($1, 'a test')", [id])],
    ];
    for (const [what, act] of acts) {
      const sources = [await note('C', 'one of two'), await note('C', 'two of two')];
      const summary = await sum('L', sources, {
        summary_text: `It says ${word}.`,
        key_facts: [word],
        scope_value: what,
      });
      // And one that L wrote in private, which whoever moves the source does not even see.
      const secret = await note('L', 'private', { scope: 'l-private' });
      const hidden = await sum('L', [...sources, secret], { summary_text: `In private ${word}.`, scope_value: what });
      const above = await sum('L', [summary.source_packet], {
        summary_text: `Of a summary: ${word}.`,
        scope_value: `${what} above`,
      });
      await gateway.embedded();
      await act(sources[0]!);
      for (const { summary_id } of [summary, hidden, above]) expect(await seen('L', summary_id), what).toBeUndefined();
      expect(await find(), what).toStrictEqual({});
      expect(await gateway.sql('L', 'select from public.packet_store where packet_id = $1', [sources[1]])).toHaveLength(
        1,
      );
    }
  });

  it('stay where their sources are: their writer can move them to no more readers', async () => {
    const secret = await note('L', 'secret', { scope: 'l-private' });
    const soon = new Date(Date.now() + 3_600_000);
    const brief = await note('L', 'soon gone', { scope: 'l-private', ttl: soon });
    const summary = await sum('L', [secret, brief]);
    expect(summary.ttl.getTime()).toBe(soon.getTime());
    const move = (change: string) =>
      gateway.sql('L', `select public.update_memory($1, ${change})`, [summary.source_packet]);
    await expect(move("scope => 'developer'")).rejects.toMatchObject({ code: 'L9VAL' });
    await expect(move("ttl => 'infinity'")).rejects.toMatchObject({ code: 'L9VAL', column: 'scope' });
    await expect(move("project_id => 'other'")).rejects.toMatchObject({ code: 'L9VAL' });
    const open = await sum('L', [await note('L', 'open')]);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [open.source_packet]);
    expect((await seen('L', open.summary_id)).scope).toBe('l-private');
    expect(await seen('C', open.summary_id)).toBeUndefined();
  });

  it('of more memories than a memory has parents rest on all of them', async () => {
    const ids = await gateway.sql(
      'C',
      `insert into public.packet_store (packet_type, envelope, project_id)
       select 'note', jsonb_build_object('content', 'of a long thread ' || n), 'long' from generate_series(1, 80) n returning packet_id`,
    );
    const sources = ids.map(({ packet_id }) => packet_id as string);
    const summary = await sum('C', sources);
    expect(summary.packet_count).toBe(80);
    await gateway.sql('C', 'select public.delete_memory($1)', [sources[0]]);
    expect(await seen('C', summary.summary_id)).toBeUndefined();
    await expect(sum('C', Array(501).fill(sources[1]))).rejects.toMatchObject({ code: 'L9LIM' });
  });

  it('say what is wrong with them', async () => {
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

  itOnServer('of what moves at the same moment show nothing', async () => {
    for (let round = 0; round < 5; round++) {
      const source = await note('L', 'to be hidden');
      const other = await note('L', 'stays');
      const [, saved] = await Promise.all([
        gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [source]),
        sum('C', [source, other], { summary_text: 'of what is being hidden' }).catch((error) => error),
      ]);
      if (!(saved instanceof Error)) expect(await seen('C', saved.summary_id)).toBeUndefined();
      else expect((saved as Error & { code: string }).code).toBe('L9OWN');
    }
    // And two who sum up one thing at once leave one.
    const source = await note('C', 'of two writers');
    await Promise.all(
      Array.from({ length: 6 }, (_, i) => sum('C', [source], { scope_value: 'race', summary_text: `text ${i}` })),
    );
    expect(await gateway.sql('C', "select from public.memory_summaries where scope_value = 'race'")).toHaveLength(1);
  });
});
